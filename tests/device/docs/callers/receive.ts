import { assertEquals } from "@std/assert";
import {
  AddressHandle,
  type CompletionQueue,
  Grh,
  type QueuePair,
  RecvRequests,
  type WorkCompletions,
} from "../../../../mod.ts";
import { QKEY, selfAddress, udPair, until, waitFor } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  receive(
    cq: CompletionQueue,
    qp: QueuePair,
    receives: RecvRequests,
    handle: (batch: WorkCompletions, index: number) => void,
    stop: AbortSignal,
  ): Promise<void>;
}

const ROOM = Grh.SIZE + 8;
const CAPACITY = 3;
const MESSAGES = 8; // more than there are receives: they are posted again, past the end of the list

/** Receives more messages than there are receives. */
export default async function call({ receive }: Snippet): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  const receives = new RecvRequests({ capacity: CAPACITY });
  for (let i = 0; i < CAPACITY; i++) {
    receives.set(i, { wrId: i, sge: right.mr.slice(i * ROOM, ROOM) });
  }
  right.qp.postRecv(receives);
  const got: number[] = [];
  const stop = new AbortController();
  const handle = (batch: WorkCompletions, i: number): number => got.push(batch.wrIdLow(i));
  const receiving = receive(right.cq, right.qp, receives, handle, stop.signal);
  using ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  const to = { sge: left.mr.slice(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
  for (let sent = 1; sent <= MESSAGES; sent++) {
    left.qp.postSend(to);
    await waitFor(left.cq);
    await until(`message ${sent} is handled`, () => got.length === sent);
  }
  stop.abort();
  await receiving;
  assertEquals(got, Array.from({ length: MESSAGES }, (_, i) => i % CAPACITY));
}
