/** The kernel finds the link addresses of peers by asking the network. */

import { assert, assertEquals, assertGreater, assertRejects } from "@std/assert";
import { AddressHandle, Gid, ReplyPath, VerbsError } from "../../../mod.ts";
import { gidOf, PORT } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { addAddress, forgetNeighbours, ipOf, knowsNeighbour, removeAddress } from "../network.ts";
import { answerTo, payloadOf, type Target, UdEnd, type UdPlace } from "../ud_end.ts";

/** Addresses of the second host that the first one has not seen before. */
const UNSEEN = ["10.0.0.41", "fd00::41"];
function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

function gidText(address: string): string {
  return address.includes(":") ? address : `::ffff:${address}`;
}

async function echo(end: UdEnd, count: number, target: Target): Promise<void> {
  for (let i = 0; i < count; i++) {
    await end.send(target, payloadOf(i));
    assertEquals((await end.receive()).payload, answerTo(payloadOf(i)));
  }
}

async function answerAll(end: UdEnd, count: number, src: string, dst: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { wc, grh, payload } = await end.receive();
    using ah = await AddressHandle.fromWcAsync(end.pd, PORT, wc, grh);
    await end.send({ ah, qpn: wc.srcQp, src, dst, trafficClass: 0 }, answerTo(payload));
  }
}

async function resolveUnseen(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const { qpn } = await run.session.swap<UdPlace>(end.place("ipv4"));
  for (const address of UNSEEN) {
    await run.session.receive();
    const from = gidOf(end.context, familyOf(address));
    const dgid = Gid.parse(gidText(address));
    for (const make of ["create", "constructor", "create"]) {
      // A question of the peer makes it known again at any time.
      while (knowsNeighbour(address)) await forgetNeighbours();
      const attr = { portNum: PORT, grh: { dgid, sgidIndex: from.gidIndex } };
      using ah = make === "create"
        ? await AddressHandle.createAsync(end.pd, attr)
        : new AddressHandle(end.pd, attr);
      assert(knowsNeighbour(address), address);
      const route = { src: ipOf(from.gid), dst: address, trafficClass: 0 };
      await echo(end, run.messages, { ah, qpn, ...route });
    }
    await run.session.send("done");
  }
}

async function appear(run: Run): Promise<void> {
  using end = new UdEnd(run);
  await run.session.swap(end.place("ipv4"));
  for (const address of UNSEEN) {
    await addAddress(end.context, address);
    await run.session.send("there");
    const dst = ipOf(gidOf(end.context, familyOf(address)).gid).replace(/2$/, "1");
    await answerAll(end, 3 * run.messages, address, dst);
    await run.session.receive();
    await removeAddress(end.context, address);
  }
}

/** The neighbours are forgotten while datagrams are on their way. */
async function forgetMeanwhile(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const peer = await run.session.swap<UdPlace>(end.place("ipv4"));
  const target = await end.target(peer, gidOf(end.context, "ipv4"));
  for (let i = 0; i < run.messages; i += 4) {
    await forgetNeighbours();
    await echo(end, Math.min(4, run.messages - i), target);
  }
}

async function answerPeer(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const peer = await run.session.swap<UdPlace>(end.place("ipv4"));
  await answerAll(end, run.messages, ipOf(gidOf(end.context, "ipv4").gid), ipOf(peer.gid));
}

const GONE = "10.0.0.42";

/** One sender is gone before it is answered. The others do not wait for it. */
async function answerThoseThere(run: Run): Promise<void> {
  using end = new UdEnd(run);
  using path = new ReplyPath(end.pd, { portNum: PORT });
  const peer = await run.session.swap<UdPlace>(end.place("ipv4"));
  const lost = await end.receive();
  await run.session.send("arrived");
  await run.session.receive();
  await forgetNeighbours();
  const failing = assertRejects(() => path.toAsync(lost.wc, lost.grh), VerbsError);
  let isOver = false;
  failing.finally(() => isOver = true);
  const src = ipOf(gidOf(end.context, "ipv4").gid);
  await run.session.send("answering");
  let meanwhile = 0;
  for (let i = 0; i < run.messages; i++) {
    const { wc, grh, payload } = await end.receive();
    const ah = await path.toAsync(wc, grh);
    const target = { ah, qpn: wc.srcQp, src, dst: ipOf(peer.gid), trafficClass: 0 };
    await end.send(target, answerTo(payload));
    if (!isOver) meanwhile++;
  }
  assertEquals((await failing).code, "ETIMEDOUT");
  assertGreater(meanwhile, 0);
}

async function vanish(run: Run): Promise<void> {
  using end = new UdEnd(run);
  const peer = await run.session.swap<UdPlace>(end.place("ipv4"));
  const from = await addAddress(end.context, GONE);
  await end.send(await end.target(peer, from), payloadOf(0));
  await run.session.receive();
  await removeAddress(end.context, GONE);
  await run.session.swap("gone");
  const target = await end.target(peer, gidOf(end.context, "ipv4"));
  await echo(end, run.messages, target);
}

/** Peers that are there, are not there, are no longer there, and are forgotten. */
export const neighbours: readonly HostCase[] = [
  {
    name: "AddressHandle.createAsync() and the constructor find the link address of an unseen peer",
    first: resolveUnseen,
    second: appear,
  },
  {
    name: "Datagrams arrive while the kernel forgets its neighbours",
    first: forgetMeanwhile,
    second: answerPeer,
  },
  {
    name: "ReplyPath.toAsync() answers others while a sender that is gone does not resolve",
    first: answerThoseThere,
    second: vanish,
  },
];
