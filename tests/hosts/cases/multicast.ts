/** Multicast groups: the second host is a member, the first one sends. */

import { assertEquals } from "@std/assert";
import { listenUd, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { type Family, gidOf, openRxe, QKEY, RXE } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { answerTo, payloadOf } from "../ud_end.ts";

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
    assertEquals((await conn.receive(patience()))[0], answerTo(payloadOf(i)));
    run.count(1);
  }
}

/** Nobody but the connection informs the host of the group. */
async function joinByAddress(run: Run, address: string): Promise<void> {
  await using conn = await openConn("ipv4");
  await run.session.send(await conn.join(address));
  for (let i = 0; i < run.messages; i++) {
    const [message, from] = await conn.receive(patience());
    await conn.send(answerTo(message), from);
  }
  conn.leave(address);
}

const IP_GROUP = "239.1.2.5";

/** Groups by the net module; by verbs in tests/device/queue_pair/multicast_test.ts. */
export const multicast: readonly HostCase[] = [
  {
    name: `UdConn.join() receives datagrams of group ${IP_GROUP}, and answers`,
    first: (run) => sendToGroupByNet(run, "ipv4"),
    second: (run) => joinByAddress(run, IP_GROUP),
  },
];
