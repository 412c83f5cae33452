// Extended completion queues on soft-RoCE, and on the stub HCA, whose adapter has a clock.
import { assert, assertEquals } from "@std/assert";
import {
  AddressHandle,
  Context,
  ProtectionDomain,
  QpType,
  QueuePair,
  WcOpcode,
  WrOpcode,
} from "../../../mod.ts";
import { CompletionQueueEx } from "../../../types/completion/completion_queue_ex.ts";
import { CreateCqWcFlags } from "../../../types/completion/work_completion_list_ex.ts";
import { deviceTest, type End, makeEnd, pairOf, PORT, QKEY, until, waitFor } from "../setup.ts";
import { IB_LID, IB_PORT, STUB, stubTest, writeStub } from "../stub.ts";

/** A UD end whose completions come through an extended queue. */
function makeEndEx(pd: ProtectionDomain): End & { readonly cq: CompletionQueueEx } {
  const cq = new CompletionQueueEx(pd.context, { cqe: 256 });
  const end = makeEnd(pd, QpType.UD, { sendCq: cq, recvCq: cq });
  end.qp.activateUd({ portNum: PORT, qkey: QKEY });
  return { ...end, cq };
}

deviceTest("CompletionQueueEx gives the completions of sends and receives", async () => {
  using pair = pairOf(makeEndEx);
  const { left, right } = pair;
  const opcode = WrOpcode.SEND_WITH_IMM;
  for (const i of [0, 1, 2]) {
    right.qp.postRecv({ wrId: 100 + i, sge: right.mr.sge(i * 64, 64) });
    left.qp.postSend({ ...pair.toRight, wrId: i, opcode, immData: i, sge: left.mr.sge(0, i) });
  }
  const sent = await waitFor(left.cq, 3);
  assertEquals(sent.map((wc) => wc.check().wrId), [0n, 1n, 2n]);
  const received = await waitFor(right.cq, 3);
  assertEquals(
    received.map(({ wrId, opcode, immData, byteLen, qpNum, srcQp }) => (
      { wrId, opcode, immData, byteLen, qpNum, srcQp }
    )),
    [0, 1, 2].map((i) => ({
      wrId: BigInt(100 + i),
      opcode: WcOpcode.RECV,
      immData: i,
      byteLen: 40 + i,
      qpNum: right.qp.qpNum,
      srcQp: left.qp.qpNum,
    })),
  );
  assertEquals([...left.cq.poll(), ...right.cq.poll()], []);
});

deviceTest("CompletionQueueEx.resize() keeps the completions it holds", async () => {
  using pair = pairOf(makeEndEx);
  const { left } = pair;
  for (let i = 0; i < 10; i++) {
    left.qp.postSend({ ...pair.toRight, wrId: i });
  }
  const [first] = await waitFor(left.cq);
  left.cq.resize(600);
  assert(left.cq.cqe >= 600);
  const rest = await waitFor(left.cq, 9);
  assertEquals([first!, ...rest].map(({ wrId }) => Number(wrId)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

stubTest("CompletionQueueEx and queryRtValuesEx() read the adapter's clock", async () => {
  using context = Context.open(STUB);
  const { COMPLETION_TIMESTAMP, BYTE_LEN } = CreateCqWcFlags;
  const wcFlags = COMPLETION_TIMESTAMP | BYTE_LEN;
  const cq = new CompletionQueueEx(context, { cqe: 63, wcFlags });
  const pd = new ProtectionDomain(context);
  const cap = { maxSendWr: 8, maxRecvWr: 8 };
  const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ portNum: IB_PORT, qkey: QKEY });
  const ah = new AddressHandle(pd, { portNum: IB_PORT, dlid: IB_LID });
  const found: [bigint, bigint][] = [];
  for (const cycles of [7n, 0x1234_5678_9abcn]) {
    writeStub("clock", `${cycles}`);
    assertEquals(context.queryRtValuesEx().rawClock.tvNsec, cycles);
    // Nobody has posted a receive: the datagram is lost, and the send completes.
    qp.postSend({ wrId: cycles, ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
    await until("the completion", () => {
      for (const wc of cq.poll()) found.push([wc.check().wrId, wc.completionTs]);
      return found.at(-1)?.[0] === cycles;
    });
  }
  assertEquals(found, [[7n, 7n], [0x1234_5678_9abcn, 0x1234_5678_9abcn]]);
  const { completionTimestampMask } = context.queryDeviceEx();
  assertEquals(completionTimestampMask, 0xffff_ffff_ffffn);
});
