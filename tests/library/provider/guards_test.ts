// Objects whose provider lacks an operation that they use without a guard. Guards are tested in ops_test.ts.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  CompletionQueue,
  CompletionQueueEx,
  CreateCqWcFlags,
  QpType,
  QueuePair,
  QueuePairEx,
  SendOpsFlags,
  SharedReceiveQueue,
  SrqType,
  VerbsError,
  WorkQueue,
} from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";

/** Objects that use operations without a guard. */
const MAKE = {
  cq: ({ context }: RecorderObjects) => new CompletionQueue(context, { cqe: 4 }),
  cqEx: ({ context }: RecorderObjects) =>
    new CompletionQueueEx(context, { cqe: 4, channel: null, wcFlags: 0xfff }),
  xrc: ({ pd, cq }: RecorderObjects) =>
    new QueuePair(pd, { qpType: QpType.XRC_SEND, sendCq: cq, cap: SENDS }),
  qp: (fixture: RecorderObjects) => fixture.qp(QpType.RC),
  qpEx: (fixture: RecorderObjects) => qpEx(fixture, QpType.RC),
  udEx: (fixture: RecorderObjects) => qpEx(fixture, QpType.UD),
  xrcEx: (fixture: RecorderObjects) => qpEx(fixture, QpType.XRC_SEND),
  srq: ({ pd }: RecorderObjects) => new SharedReceiveQueue(pd, { maxWr: 1 }),
  tags: ({ pd, cq }: RecorderObjects) =>
    new SharedReceiveQueue(pd, { maxWr: 1, srqType: SrqType.TM, cq, tmCap: TM_CAP }),
  wq: ({ pd, cq }: RecorderObjects) => new WorkQueue(pd, { cq, maxWr: 4, maxSge: 1 }),
};
const SENDS = { maxSendWr: 4 };
const CAP = { ...SENDS, maxRecvWr: 4 };
const TM_CAP = { maxNumTags: 1, maxOps: 1 };
const ALL_OPS = Object.values(SendOpsFlags).reduce((all, flag) => all | flag, 0);

function qpEx({ pd, cq }: RecorderObjects, type: QpType): QueuePairEx {
  const queues = type === QpType.XRC_SEND
    ? { qpType: type, sendCq: cq, cap: SENDS }
    : { qpType: type, sendCq: cq, recvCq: cq, cap: CAP };
  const sendOpsFlags = type === QpType.RC ? ALL_OPS : SendOpsFlags.SEND;
  return new QueuePairEx(pd, { ...queues, sendOpsFlags });
}

/** What an object lacks, by the verb that its error names. The kind is that of the C object that has the operation. */
const LACKS: readonly (readonly [make: keyof typeof MAKE, kind: string, verbs: string])[] = [
  ["cq", "context", "poll_cq req_notify_cq"],
  ["cqEx", "context", "poll_cq req_notify_cq create_cq_ex"],
  [
    "cqEx",
    "cq",
    "start_poll next_poll end_poll wc_read_opcode wc_read_vendor_err wc_read_wc_flags",
  ],
  ["cqEx", "cq", "wc_read_byte_len wc_read_imm_data wc_read_qp_num wc_read_src_qp wc_read_slid"],
  ["cqEx", "cq", "wc_read_sl wc_read_dlid_path_bits wc_read_completion_ts wc_read_cvlan"],
  ["cqEx", "cq", "wc_read_flow_tag wc_read_tm_info wc_read_completion_wallclock_ns"],
  ["xrc", "context", "post_send"],
  ["qp", "context", "post_send post_recv"],
  ["qpEx", "context", "post_send post_recv create_qp_ex"],
  ["qpEx", "qp", "wr_start wr_complete wr_abort wr_set_sge wr_set_sge_list wr_set_inline_data"],
  ["qpEx", "qp", "wr_set_inline_data_list wr_rdma_write wr_rdma_write_imm wr_send wr_send_imm"],
  ["qpEx", "qp", "wr_rdma_read wr_atomic_cmp_swp wr_atomic_fetch_add wr_local_inv wr_bind_mw"],
  ["qpEx", "qp", "wr_send_inv wr_send_tso wr_atomic_write"],
  ["udEx", "qp", "wr_set_ud_addr"],
  ["xrcEx", "qp", "wr_set_xrc_srqn"],
  ["srq", "context", "post_srq_recv"],
  ["tags", "context", "post_srq_recv post_srq_ops"],
  ["wq", "wq", "post_wq_recv"],
];

const IN_OPS = /^(poll_cq|req_notify_cq|post_(send|recv|srq_recv))$/;

/** Takes the operation of a verb from the context that is open, or from the objects of another kind to come. */
function lack(kind: string, verb: string): void {
  if (kind !== "context") return recorder.lack(verb.replace(/^wc_|(?<=post_)wq_/, ""), kind);
  recorder.overwrite("context0", IN_OPS.test(verb) ? `ops.${verb}` : verb, 0n);
}

for (const [name, kind, verbs] of LACKS) {
  for (const verb of verbs.split(" ")) {
    Deno.test(`${name}: an object that needs ${verb} is refused when it is made`, () => {
      using fixture = new RecorderObjects();
      const { pd, cq } = fixture;
      assertEquals([pd.disposed, cq.disposed], [false, false]);
      const live = recorder.live();
      lack(kind, verb);
      const error = assertThrows(() => MAKE[name](fixture), VerbsError);
      assertEquals([error.verb, error.code], [`ibv_${verb}`, "EOPNOTSUPP"]);
      assertStringIncludes(error.message, /Cannot create [a-z ]+(?= \(|:)/.exec(error.message)![0]);
      assertEquals(recorder.live(), live);
    });
  }
}

Deno.test("Objects are made although their provider lacks what they do not need", () => {
  using fixture = new RecorderObjects();
  const { pd, cq, context } = fixture;
  for (const op of ["wr_set_ud_addr", "wr_set_xrc_srqn", "wr_rdma_read"]) recorder.lack(op, "qp");
  recorder.lack("read_cvlan", "cq");
  recorder.overwrite("context0", "post_srq_ops", 0n);
  const { SEND } = SendOpsFlags;
  new QueuePairEx(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap: CAP, sendOpsFlags: SEND });
  new CompletionQueueEx(context, { cqe: 4, wcFlags: CreateCqWcFlags.SLID });
  new SharedReceiveQueue(pd, { maxWr: 1 });
  recorder.overwrite("context0", "ops.post_recv", 0n);
  MAKE.xrc(fixture);
});
