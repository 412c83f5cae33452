/** ReplyPath, while the addresses of the peer or of this host change. */

import { assertEquals, assertRejects } from "@std/assert";
import { ReplyPath, VerbsError } from "../../../mod.ts";
import { gidOf, PORT } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { addAddress, familyOf, ipOf, removeAddress } from "../network.ts";
import { answerTo, DEPTH, payloadOf, type Target, UdEnd, type UdPlace } from "../ud_end.ts";

/** The addresses that a reply must have. */
type Route = Pick<Target, "src" | "dst" | "trafficClass">;

/** Answers the next datagram. */
type Answer = (end: UdEnd, path: ReplyPath, route: Route) => Promise<void>;

function answerBy(method: "to" | "toAsync"): Answer {
  return async (end, path, route) => {
    const { wc, grh, payload } = await end.receive();
    const ah = await path[method](wc, grh);
    await end.send({ ...route, ah, qpn: wc.srcQp }, answerTo(payload));
  };
}

/** Sends datagrams, some at a time, and checks the answers. */
async function askAll(end: UdEnd, target: Target, messages: number): Promise<void> {
  const window = DEPTH / 2;
  for (let from = 0; from < messages; from += window) {
    const numbers = Array.from({ length: Math.min(window, messages - from) }, (_, i) => from + i);
    for (const number of numbers) await end.send(target, payloadOf(number));
    for (const number of numbers) {
      const { payload, grh } = await end.receive();
      assertEquals([payload, ipOf(grh.sgid)], [answerTo(payloadOf(number)), target.dst]);
    }
  }
}

// The first one comes back at the end, when the path may still know it.
const PEER_ADDRESSES = ["10.0.0.21", "10.0.0.22", "fd00::21", "10.0.0.23", "10.0.0.21"];

/** Answers a peer whose address changes. The peer gives its address only for what the packets must be. */
async function answerMovingPeer(run: Run, answer: Answer): Promise<void> {
  using end = new UdEnd(run);
  using path = new ReplyPath(end.pd, { portNum: PORT });
  await run.session.send({ ipv4: end.place("ipv4"), ipv6: end.place("ipv6") });
  for (const _ of PEER_ADDRESSES) {
    const dst = await run.session.receive<string>();
    const src = ipOf(gidOf(end.context, familyOf(dst)).gid);
    for (let i = 0; i < run.messages; i++) await answer(end, path, { src, dst, trafficClass: 0 });
  }
}

async function moveAndAsk(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const places = await run.session.receive<{ ipv4: UdPlace; ipv6: UdPlace }>();
  for (const address of PEER_ADDRESSES) {
    const from = await addAddress(end.context, address);
    await run.session.send(address);
    await askAll(end, await end.target(places[familyOf(address)], from), run.messages);
    await removeAddress(end.context, address);
  }
}

// An address that is added takes the first free slot of the GID table: later ones take that of the first.
const CHANGES: readonly (readonly ["add" | "del", string])[] = [
  ["add", "10.0.0.31"],
  ["add", "10.0.0.32"],
  ["del", "10.0.0.31"],
  ["add", "10.0.0.33"],
  ["del", "10.0.0.32"],
  ["add", "10.0.0.31"],
  ["del", "10.0.0.33"],
];

/** Answers while the addresses of this host change: a reply comes from the address that was asked. */
async function moveAndAnswer(run: Run, answer: Answer): Promise<void> {
  using end = new UdEnd(run);
  using path = new ReplyPath(end.pd, { portNum: PORT });
  const peer = await run.session.swap<UdPlace>(end.place("ipv4"));
  const own: string[] = [];
  for (const [change, address] of CHANGES) {
    if (change === "add") {
      await addAddress(end.context, address);
      own.push(address);
    } else {
      await removeAddress(end.context, address);
      own.splice(own.indexOf(address), 1);
    }
    for (const src of own) {
      await run.session.send(src);
      const route = { src, dst: ipOf(peer.gid), trafficClass: 0 };
      for (let i = 0; i < run.messages; i++) await answer(end, path, route);
    }
  }
  const [last] = own;
  await run.session.send(null);
  const { wc, grh } = await end.receive();
  await removeAddress(end.context, last!);
  const error = await assertRejects(() => path.toAsync(wc, grh), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_init_ah_from_wc", "EINVAL"]);
}

async function askMovingHost(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const { qpn } = await run.session.swap<UdPlace>(end.place("ipv4"));
  const from = gidOf(end.context, "ipv4");
  let target: Target | undefined;
  while (true) {
    const address = await run.session.receive<string | null>();
    if (address === null) break;
    target = await end.target({ gid: `::ffff:${address}`, qpn }, from);
    await askAll(end, target, run.messages);
  }
  // Nobody answers it: its destination is removed.
  await end.send(target!, payloadOf(1));
}

/** Changes on either side, for both ways to ask the path. */
export const replyPath: readonly HostCase[] = (["to", "toAsync"] as const).flatMap(
  (method): HostCase[] => [
    {
      name: `ReplyPath.${method}() replies to the new address of a peer that changes its address`,
      first: (run) => answerMovingPeer(run, answerBy(method)),
      second: moveAndAsk,
    },
    {
      name:
        `ReplyPath.${method}() replies from the address that was asked while those of this host change`,
      first: (run) => moveAndAnswer(run, answerBy(method)),
      second: askMovingHost,
    },
  ],
);
