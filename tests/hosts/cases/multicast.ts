/** Multicast groups: the second host is a member, the first one sends. */

import { assertEquals, assertThrows } from "@std/assert";
import { Gid, initAhFromWc, VerbsError } from "../../../mod.ts";
import { listenUd, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { run as runProgram } from "../../device/run.ts";
import { type Family, gidOf, openRxe, PORT, QKEY, RXE } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { ipOf, NETDEV } from "../network.ts";
import { answerTo, payloadOf, UdEnd, type UdPlace } from "../ud_end.ts";

const GROUPS: Readonly<Partial<Record<Family, string>>> = {
  "ipv4": "::ffff:239.1.2.4",
  "link-local": "ff0e::77",
};
const MULTICAST_QPN = 0xff_ffff;
/** Linux 6.1 leaves the hop limit of multicast as it is, and sends no flow label. */
const HOP_LIMIT = 9;

/** Has the host take packets for an IP group. Joining by verbs alone does not, on soft-RoCE. */
async function listenTo(group: string): Promise<AsyncDisposable> {
  const prefix = `${ipOf(group)}/${group.includes("ffff") ? 32 : 128}`;
  await runProgram("ip", "addr", "add", prefix, "dev", NETDEV, "autojoin");
  return {
    [Symbol.asyncDispose]: () => runProgram("ip", "addr", "del", prefix, "dev", NETDEV),
  };
}

async function sendToGroup(run: Run, family: Family, group: string): Promise<void> {
  using end = new UdEnd(run);
  const from = gidOf(end.context, family);
  const member = await run.session.swap<UdPlace>(end.place(family));
  const target = await end.target({ gid: group, qpn: MULTICAST_QPN }, from, {
    hopLimit: HOP_LIMIT,
    flowLabel: 0xabcde,
  });
  for (let i = 0; i < run.messages; i++) {
    await end.send({ ...target, hopLimit: HOP_LIMIT }, payloadOf(i));
    const { wc, payload } = await end.receive();
    assertEquals([payload, wc.srcQp], [answerTo(payloadOf(i)), member.qpn]);
  }
  await run.session.send("answered");
  await run.session.receive();
  await end.send({ ...target, hopLimit: HOP_LIMIT }, payloadOf(0));
  await end.send(await end.target(member, from), payloadOf(1));
}

async function joinGroup(run: Run, family: Family, group: string): Promise<void> {
  await using _listening = await listenTo(group);
  using end = new UdEnd(run);
  using other = new UdEnd(run);
  const dgid = Gid.parse(group);
  end.qp.attachMcast(dgid);
  const sender = await run.session.swap<UdPlace>(end.place(family));
  const target = await end.target(sender, gidOf(end.context, family));
  for (let i = 0; i < run.messages; i++) {
    const { wc, grh, payload } = await end.receive();
    assertEquals([ipOf(grh.sgid), ipOf(grh.dgid)], [ipOf(sender.gid), ipOf(group)]);
    // The packet has the address of the group, from which no reply may come.
    const error = assertThrows(() => initAhFromWc(end.context, PORT, wc, grh), VerbsError);
    assertEquals(error.code, "EINVAL");
    await end.send({ ...target, qpn: wc.srcQp }, answerTo(payload));
  }
  await run.session.receive();
  end.qp.detachMcast(dgid, 0);
  await run.session.send("left");
  assertEquals((await end.receive()).payload, payloadOf(1));
  assertEquals(other.recvCq.poll(), []);
}

async function openConn(family: Family): Promise<UdConn> {
  using context = openRxe();
  const { gidIndex } = gidOf(context, family);
  return await listenUd({ device: RXE, qkey: QKEY, gidIndex });
}

const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(60_000) });

async function sendToGroupByNet(run: Run, family: Family): Promise<void> {
  await using conn = await openConn(family);
  const target = await run.session.receive<UdAddress>();
  for (let i = 0; i < run.messages; i++) {
    await conn.send(payloadOf(i), target);
    assertEquals((await conn.receive(undefined, patience()))[0], answerTo(payloadOf(i)));
    run.count(1);
  }
}

/** Nobody but the connection tells the host of the group. */
async function joinByAddress(run: Run, address: string): Promise<void> {
  await using conn = await openConn("ipv4");
  await run.session.send(await conn.join(address));
  for (let i = 0; i < run.messages; i++) {
    const [message, from] = await conn.receive(undefined, patience());
    await conn.send(answerTo(message), from);
  }
  conn.leave(address);
}

const IP_GROUP = "239.1.2.5";

/** Groups of both families, by verbs and by the net module. */
export const multicast: readonly HostCase[] = [
  {
    name: `UdConn.join() receives datagrams of group ${IP_GROUP}, and answers`,
    first: (run) => sendToGroupByNet(run, "ipv4"),
    second: (run) => joinByAddress(run, IP_GROUP),
  },
  ...Object.entries(GROUPS).flatMap(
    ([family, group]): HostCase[] => [
      {
        name: `QueuePair.attachMcast() receives datagrams of group ${ipOf(group)}`,
        first: (run) => sendToGroup(run, family as Family, group),
        second: (run) => joinGroup(run, family as Family, group),
      },
    ],
  ),
];
