/** Hostile peers of the ping-pongs, of perf and of net, on the recording provider: no device is needed. */

import { run as runCli } from "../../cli/run.ts";
import { encodeAddress } from "../../cli/peer/address.ts";
import { connectRc, listenRc } from "../../net/mod.ts";
import { recorder as printed } from "../../cli/tests/pure/terminal.ts";
import { endpoint, jsonLine, rcAddress, spoiled, wrong } from "./inputs.ts";
import { call, freePort, type Peer, peerLike, serve } from "./peers.ts";
import {
  ALL,
  expected,
  fc,
  isHarmless,
  refuse,
  same,
  type Target,
  target,
  within,
} from "./target.ts";

/** Peers of one round: most of their time they wait. */
const MANY = { minLength: 1, maxLength: 48, size: "max" } as const;

const DEVICE = "recorder0";
/** Above what a time-out of one second and a busy machine take. */
const LIMIT_MS = 15_000;

const encoder = new TextEncoder();

/** The recording provider. Loading it takes the place of libibverbs. */
export function provider(): Promise<typeof import("../../tests/provider/recorder.ts")> {
  return import("../../tests/provider/recorder.ts");
}

/**
 * Runs a round on a fresh provider: at its end nothing of it is left, and nothing was done that none may do. Returns the
 * number of inputs.
 */
export async function recorded<T>(
  inputs: readonly T[],
  body: (inputs: readonly T[]) => Promise<unknown>,
): Promise<number> {
  const recorder = await provider();
  recorder.reset();
  try {
    await body(inputs);
  } finally {
    // Closing goes on for a moment after a failure, too.
    for (let i = 0; recorder.live() > 0 && i < 200; i++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  recorder.take();
  same(recorder.violations(), [], "what no program may do");
  same(recorder.live(), 0, "objects that are left");
  return inputs.length;
}

/** A target with many hostile peers in a round. */
function hostile<T>(
  name: string,
  what: string,
  peer: fc.Arbitrary<T>,
  body: (peers: readonly T[]) => Promise<unknown>,
  weight = 3,
): Target {
  return target(name, ALL, what, [fc.array(peer, MANY)], (peers) => recorded(peers, body), weight);
}

/** Gives each peer a program of its own, all at once. */
function atOnce<T>(each: (peer: T) => Promise<void>): (peers: readonly T[]) => Promise<unknown> {
  return (peers) => Promise.all(peers.map(each));
}

const frame = endpoint.map(encodeAddress);
const ends = fc.constantFrom("done\0", "done", "DONE\0", "", "done\0done\0");
const conversation = fc.tuple(fc.array(frame, { minLength: 1, maxLength: 2 }), ends)
  .map(([all, end]) => new Uint8Array([...all.flatMap((one) => [...one]), ...encoder.encode(end)]));

const KINDS = ["rc", "uc", "ud", "srq"] as const;
type Kind = typeof KINDS[number];

async function pingPong(kind: Kind, port: number, ...more: string[]): Promise<void> {
  const sizes = kind === "srq" ? ["-q", "2", "-r", "4"] : ["-r", "4"];
  const args = ["-e", "--timeout=1", "--warm-up=0", "-g", "1", "-n", "4", "-s", "64", ...sizes];
  await command("pingpong", kind, "-d", DEVICE, "-p", `${port}`, ...args, ...more);
}

/** Runs a command to its end. It says why it fails, in characters that a terminal shows. */
async function command(...args: string[]): Promise<void> {
  const terminal = printed();
  const status = await within(LIMIT_MS, args.join(" "), runCli(args, terminal.terminal));
  same([0, 1].includes(status), true, `status ${status}`);
  same(isHarmless(terminal.out + terminal.err), true, "what is printed is harmless");
  if (status === 1) refuse();
  if (status === 1) same(/^\w+: \S/.test(terminal.err), true, "a message");
}

async function attackServer(peer: Peer, serve: (port: number) => Promise<void>): Promise<void> {
  const port = freePort();
  let ended = false;
  const served = serve(port).finally(() => ended = true);
  await Promise.all([served, call(peer, port, () => ended)]);
  // The port is free for the next run at once.
  using _listener = Deno.listen({ port });
}

const addressText = frame.map((bytes) => new TextDecoder().decode(bytes));
const hello = fc.record({
  perf: fc.constantFrom(2, 2, 2, 2, 2, 1, "2"),
  verb: fc.constantFrom("send", "send", "write", "read", "sing"),
  kind: fc.constantFrom("rc", "uc", "ud", "rc", "uc", "ud", "srq", "\x1b[2J"),
  size: fc.constantFrom(1, 64, 4096, 64, 2 ** 25, -1),
  iters: fc.constantFrom(10, 11, 12, 13, 2 ** 53, "\u009b"),
  messages: fc.constantFrom(10, 64),
  duration: fc.constantFrom(0, 0, 0, 0, 1, -1, "\u009b"),
  qp: fc.constantFrom(1, 1, 2, 3, 257),
  left: fc.constantFrom(0, 0, 0, 1, 65),
  addr: fc.constantFrom("0x1000", "0x1000", "\u009b", "0xffffffffffffffffff"),
  rkey: fc.constantFrom(1, 1, -1),
  reads: fc.constantFrom(1, 16, 256),
  mtu: fc.constantFrom(1024, 256, 1500, "x"),
  addresses: fc.array(fc.oneof(addressText, wrong), { maxLength: 3 }),
});
const lines = fc.oneof(
  hello,
  fc.constantFrom({ error: "\x1b[2J\u202e" }, { error: {} }, { address: "\u009b" }, [], 5, null),
  addressText.map((address) => ({ addresses: [address], addr: "0x1000", rkey: 1, reads: 1 })),
).map(jsonLine);

const gid = fc.oneof(fc.ipV6(), fc.constantFrom("::ffff:10.0.0.9", "fe80::9", "\u009b2J"));
const rcLine = spoiled(rcAddress(gid)).map(jsonLine);

const GOOD = jsonLine({
  ...{ transport: "RC", gid: "::ffff:10.0.0.9", lid: 0, qpn: 5, psn: 6 },
  ...{ mtu: 1024, rdAtomic: 1, credits: 4, maxMessage: 4096 },
});
const SILENT: Peer = { pieces: [{ bytes: GOOD, after: 0 }], ending: "silence" };

/** Peers name any GID, so that the code after the check is reached as well. */
const SMALL = {
  device: DEVICE,
  credits: 2,
  sendDepth: 2,
  maxMessage: 64,
  connectTimeout: 300,
  peerGid: "any",
} as const;

/** All peers call at once. Then the next one gets its answer all the same. */
async function attackListener(peers: readonly Peer[]): Promise<void> {
  // All peers come from one address.
  const maxPerPeer = MANY.maxLength + 1;
  await using listener = await listenRc({ ...SMALL, maxPerPeer });
  const { port } = listener.addr;
  const attacks = peers.map((peer) => call(peer, port, () => false));
  await within(LIMIT_MS, "the attack", Promise.all(attacks));
  const answer = new TextDecoder().decode(
    await within(LIMIT_MS, "the next peer", call(SILENT, port, () => false)),
  );
  same(/^\{"transport":"RC",[^\n]*\}\n$/.test(answer), true, `the next peer's answer ${answer}`);
  const { connected, refused, lastError } = listener.stats;
  // A connection needs a greeting over RDMA, and nobody sends one.
  same([connected, refused], [0, 0], "connected and refused");
  refuse(peers.length);
  same(isHarmless(Deno.inspect(lastError)), true, "the error of the listener");
}

async function attackConnect(peer: Peer): Promise<void> {
  const connected = serve(peer, (tcpPort) => connectRc({ ...SMALL, tcpPort }));
  const { ConnectionReset, InvalidData, TimedOut } = Deno.errors;
  try {
    const conn = await within(LIMIT_MS, "connectRc()", connected);
    await conn[Symbol.asyncDispose]();
    throw new Error("Cannot be connected: nobody greets");
  } catch (error) {
    expected(error, InvalidData, TimedOut, ConnectionReset);
  }
}

/** Attacks a program as its client or as its server. */
function attack(
  calls: boolean,
  peer: Peer,
  program: (port: number, ...host: string[]) => Promise<void>,
): Promise<void> {
  return calls ? attackServer(peer, program) : serve(peer, (port) => program(port, "127.0.0.1"));
}

const perf = (port: number, ...host: string[]): Promise<void> =>
  command("perf", "-d", DEVICE, "-p", `${port}`, "--timeout=1", ...host);
const pingPongs = (calls: boolean) => ([kind, peer]: [Kind, Peer]): Promise<void> =>
  attack(calls, peer, (port, ...host) => pingPong(kind, port, ...host));

const anyKind = fc.tuple(fc.constantFrom(...KINDS), peerLike(conversation));
const perfPeer = fc.tuple(fc.boolean(), peerLike(lines));
const netPeer = peerLike(rcLine);
const attackPerf = atOnce(([calls, peer]: [boolean, Peer]) => attack(calls, peer, perf));

export const SERVERS: readonly Target[] = [
  hostile("pingpong-server", "ping-pong servers", anyKind, atOnce(pingPongs(true))),
  hostile("pingpong-client", "ping-pong clients", anyKind, atOnce(pingPongs(false))),
  hostile("perf", "cli perf, as server and as client", perfPeer, attackPerf),
  hostile("net-listener", "listenRc(), and the peer after hostile ones", netPeer, attackListener),
  hostile("net-connect", "connectRc() to hostile servers", netPeer, atOnce(attackConnect), 2),
];
