/** Hostile peers on TCP of net's connections, on the recording provider. */

import { connectRc, listenRc } from "../../net/mod.ts";
import { jsonLine, rcAddress, spoiled } from "./inputs.ts";
import { call, type Peer, peerLike, serve } from "./peers.ts";
import { recorded } from "./provider.ts";
import { fc, isHarmless, same, target, within } from "./target.ts";

/** Peers of one round: most of their time they wait. */
const MANY = { minLength: 1, maxLength: 48, size: "max" } as const;

/** Above what a time-out of one second and a busy machine take. */
const LIMIT_MS = 15_000;

const gid = fc.oneof(fc.ipV6(), fc.constantFrom("::ffff:10.0.0.9", "fe80::9", "\u009b2J"));
const peer = peerLike(spoiled(rcAddress(gid)).map(jsonLine));

const GOOD = jsonLine({
  ...{ transport: "RC", gid: "::ffff:10.0.0.9", lid: 0, qpNum: 5, psn: 6 },
  ...{ mtu: 1024, rdAtomic: 1, credits: 4, maxMessage: 4096 },
});
const SILENT: Peer = { pieces: [{ bytes: GOOD, after: 0 }], ending: "silence" };

/** Peers name any GID, so that the code after the check is reached as well. */
const SMALL = {
  ...{ device: "recorder0", credits: 2, sendDepth: 2, maxMessage: 64, connectTimeout: 300 },
  peerGid: "any",
} as const;

/** All peers call at once. Then the next one gets its answer all the same. */
async function attackListener(peers: readonly Peer[]): Promise<void> {
  // All peers come from one address.
  await using listener = await listenRc({ ...SMALL, maxPerPeer: MANY.maxLength + 1 });
  const { port } = listener.addr;
  const attacks = peers.map((peer) => call(peer, port));
  await within(LIMIT_MS, "the attack", Promise.all(attacks));
  const next = call(SILENT, port);
  const answer = new TextDecoder().decode(await within(LIMIT_MS, "the next peer", next));
  same(/^\{"transport":"RC",[^\n]*\}\n$/.test(answer), true, `the next peer's answer ${answer}`);
  const { connected, refused, lastError } = listener.stats;
  // A connection needs a greeting over RDMA, and nobody sends one.
  same([connected, refused], [0, 0], "connected and refused");
  same(isHarmless(Deno.inspect(lastError)), true, "the error of the listener");
}

async function attackConnect(peer: Peer): Promise<void> {
  const connected = serve(peer, (tcpPort) => connectRc({ ...SMALL, tcpPort }));
  const { ConnectionReset, InvalidData, TimedOut } = Deno.errors;
  const error = await within(LIMIT_MS, "connectRc()", connected).then(
    () => new Error("Cannot be connected: nobody greets"),
    (error) => error,
  );
  // Nobody is served: it is right that each is refused.
  if (![ConnectionReset, InvalidData, TimedOut].some((kind) => error instanceof kind)) throw error;
  same(isHarmless(Deno.inspect(error)), true, "the error");
}

const peers = fc.array(peer, MANY);

export const SERVERS = [
  target(
    "net-listener",
    "listenRc(), and the peer after hostile ones",
    peers,
    (all) => recorded(all, attackListener),
  ),
  target(
    "net-connect",
    "connectRc() to hostile servers",
    peers,
    (all) => recorded(all, (all) => Promise.all(all.map(attackConnect))),
  ),
];
