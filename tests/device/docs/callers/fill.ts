import { assertEquals } from "@std/assert";
import {
  AddressHandle,
  type MemoryRegion,
  type QueuePair,
  type RecvRequests,
} from "../../../../mod.ts";
import { QKEY, selfAddress, udPair, waitFor } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  fill(qp: QueuePair, mr: MemoryRegion, size: number, n: number): RecvRequests;
}

/** Receives into each of the receives. */
export default async function call({ fill }: Snippet): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  assertEquals(fill(right.qp, right.mr, 128, 3).capacity, 3);
  using ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  const to = { sge: left.mr.slice(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
  left.qp.postSend([to, to, to]);
  const received = await waitFor(right.cq, 3);
  assertEquals(received.map((wc) => wc.check().wrId), [0n, 128n, 256n]);
  await waitFor(left.cq, 3);
}
