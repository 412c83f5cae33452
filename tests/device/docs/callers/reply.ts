import { assertEquals } from "@std/assert";
import {
  AddressHandle,
  type CompletionQueue,
  Grh,
  type MemoryRegion,
  type QueuePair,
  WcOpcode,
} from "../../../../mod.ts";
import { QKEY, selfAddress, udPair, waitFor } from "../../setup.ts";

/** The functions of the snippet. */
export interface Snippet {
  reply(qp: QueuePair, cq: CompletionQueue, mr: MemoryRegion): void | Promise<void>;
}

/** Sends a datagram to a queue pair that replies. */
export default async function call({ reply }: Snippet): Promise<void> {
  using pair = udPair();
  const { left, right } = pair;
  // The snippet may poll without a pause, so the message is sent before it posts its receive.
  right.qp.postRecv({ sge: right.mr.slice(0, Grh.SIZE + 1024) });
  left.qp.postRecv({ sge: left.mr.slice(0, Grh.SIZE + 1024) });
  const sge = left.mr.slice(2048, 5);
  sge.bytes.set(new TextEncoder().encode("hello"));
  using ah = new AddressHandle(pair.pd, selfAddress(pair.context));
  left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  await reply(right.qp, right.cq, right.mr);
  const answer = (await waitFor(left.cq, 2)).find(({ opcode }) => opcode === WcOpcode.RECV)!;
  const text = left.mr.bytes(Grh.SIZE, answer.byteLen - Grh.SIZE);
  assertEquals([answer.srcQp, new TextDecoder().decode(text)], [right.qp.qpNum, "hello"]);
  await waitFor(right.cq); // the handle of the reply is destroyed
}
