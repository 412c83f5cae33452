/** Replies by the completion and the GRH of a datagram, one handle for each. */

import {
  AddressHandle,
  type Grh,
  initAhFromWc,
  initAhFromWcAsync,
  type ProtectionDomain,
  type WorkCompletion,
} from "../../../mod.ts";
import { assertEquals } from "@std/assert";
import { type Family, gidOf, PORT } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { ipOf } from "../network.ts";
import { answerTo, payloadOf, UdEnd, type UdPlace } from "../ud_end.ts";

type Reply = (pd: ProtectionDomain, wc: WorkCompletion, grh: Grh) => Promise<AddressHandle>;

const REPLIES: Readonly<Record<string, Reply>> = {
  "initAhFromWc()": async (pd, wc, grh) =>
    await AddressHandle.createAsync(pd, initAhFromWc(pd.context, PORT, wc, grh)),
  "initAhFromWcAsync()": async (pd, wc, grh) =>
    new AddressHandle(pd, await initAhFromWcAsync(pd.context, PORT, wc, grh)),
  "AddressHandle.fromWc()": async (pd, wc, grh) =>
    await Promise.resolve(AddressHandle.fromWc(pd, PORT, wc, grh)),
  "AddressHandle.fromWcAsync()": async (pd, wc, grh) =>
    await AddressHandle.fromWcAsync(pd, PORT, wc, grh),
};

const FAMILIES: Readonly<Record<Family, string>> = {
  "link-local": "link-local IPv6 addresses, GID index 0",
  "ipv4": "IPv4 addresses",
  "ipv6": "IPv6 addresses",
};

/** The reply must carry the traffic class of the request. */
const TRAFFIC_CLASS = 0x28;
/** What Linux 6.1 does not send: packets have the hop limit of the route and no flow label. */
const UNSENT = { hopLimit: 7, flowLabel: 0xabcde } as const;
/** Packet sequence numbers pass the largest one, 24 bits. */
const FIRST_PSN = 0xff_fffe;

/** The first host asks. */
async function ask(run: Run, family: Family): Promise<void> {
  using end = new UdEnd(run, FIRST_PSN);
  const peer = await run.session.swap<UdPlace>(end.place(family));
  const from = gidOf(end.context, family);
  const target = await end.target(peer, from, { trafficClass: TRAFFIC_CLASS, ...UNSENT });
  for (let i = 0; i < run.messages; i++) {
    const payload = payloadOf(i);
    await end.send(target, payload);
    const { payload: answer, wc } = await end.receive();
    assertEquals([answer, wc.srcQp], [answerTo(payload), peer.qpn]);
  }
}

/** The second host knows the address of the first one only for what the packets must be. */
async function answer(run: Run, family: Family, reply: Reply): Promise<void> {
  using end = new UdEnd(run, FIRST_PSN);
  const peer = await run.session.swap<UdPlace>(end.place(family));
  const [src, dst] = [ipOf(gidOf(end.context, family).gid), ipOf(peer.gid)];
  for (let i = 0; i < run.messages; i++) {
    const { wc, grh, payload } = await end.receive();
    using ah = await reply(end.pd, wc, grh);
    const target = { ah, qpn: wc.srcQp, src, dst, trafficClass: TRAFFIC_CLASS };
    await end.send(target, answerTo(payload));
  }
}

/** Every way to make the handle, for every kind of address. */
export const replyByHand: readonly HostCase[] = Object.entries(FAMILIES).flatMap(
  ([family, addresses]) =>
    Object.entries(REPLIES).map(([name, reply]): HostCase => ({
      name: `${name} replies to a datagram: ${addresses}`,
      first: (run) => ask(run, family as Family),
      second: (run) => answer(run, family as Family, reply),
    })),
);
