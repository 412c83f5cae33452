// Address handles that sends use, with the completions of several queue pairs in one queue.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals } from "@std/assert";
import {
  AddressHandle,
  CompletionQueue,
  QpState,
  QpType,
  QueuePair,
  WcOpcode,
  WcStatus,
} from "../../../mod.ts";
import { testsWith } from "../recorded.ts";

const QKEY = 0x1111_1111;

/** Two UD queue pairs that send to cq0. */
const on = testsWith(({ context, pd }) => {
  const cq = new CompletionQueue(context, { cqe: 64 });
  const cap = { maxSendWr: 16, maxRecvWr: 16 };
  const make = (): QueuePair => {
    const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
    qp.activateUd({ port: 1, qkey: QKEY });
    return qp;
  };
  return { cq, one: make(), two: make() };
});

/** Sends with a handle of its own that is closed at once. */
function sendAndClose(qp: QueuePair, signaled = true): void {
  const ah = new AddressHandle(qp.pd, { portNum: 1, dlid: 7 });
  qp.postSend({ ah, signaled, remoteQpn: 5, remoteQkey: QKEY });
  ah.close();
}

function completeSend(qp: QueuePair): void {
  recorder.complete("cq0", { qp_num: qp.qpNum, opcode: WcOpcode.SEND });
}

on.test("Handles of two queue pairs live until the completions of their own sends", (setup) => {
  const { cq, one, two } = setup;
  sendAndClose(one);
  sendAndClose(two);
  sendAndClose(two);
  assertEquals(recorder.live("ah"), 3);
  completeSend(two);
  assertEquals(recorder.live("ah"), 3);
  cq.poll();
  assertEquals(recorder.live("ah"), 2);
  completeSend(one);
  completeSend(two);
  assertEquals(recorder.live("ah"), 2);
  cq.poll();
  assertEquals(recorder.live("ah"), 0);
});

on.test("Handles live on when the completion is a receive, or failed, or of another queue pair", (setup) => {
  const { cq, one, two } = setup;
  sendAndClose(one);
  recorder.complete("cq0", { qp_num: one.qpNum, opcode: WcOpcode.RECV });
  recorder.complete("cq0", { qp_num: one.qpNum, status: WcStatus.WR_FLUSH_ERR });
  completeSend(two);
  assertEquals(cq.poll().length, 3);
  assertEquals(recorder.live("ah"), 1);
  completeSend(one);
  cq.poll();
  assertEquals(recorder.live("ah"), 0);
});

on.test("Handles of failed sends live until the queue pair is reset, each queue pair for itself", (setup) => {
  const { cq, one, two } = setup;
  for (const qp of [one, two]) {
    sendAndClose(qp);
    recorder.complete("cq0", { qp_num: qp.qpNum, status: WcStatus.LOC_QP_OP_ERR });
  }
  cq.poll();
  assertEquals(recorder.live("ah"), 2);
  one.modify({ qpState: QpState.RESET });
  assertEquals(recorder.live("ah"), 1);
  two.close();
  assertEquals(recorder.live("ah"), 0);
});

on.test("An unsignaled send keeps its handle until the next signaled one completes", ({ cq, one }) => {
  sendAndClose(one, false);
  assertEquals(recorder.live("ah"), 1);
  sendAndClose(one);
  assertEquals(recorder.live("ah"), 2);
  completeSend(one);
  cq.poll();
  assertEquals(recorder.live("ah"), 0);
});
