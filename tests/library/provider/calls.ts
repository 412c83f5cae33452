// Calls that change or query what exists on the recorder, each with its verb.
import {
  adviseMr,
  AdviseMrAdvice,
  CompletionChannel,
  CompletionQueue,
  CounterDescription,
  Counters,
  DeviceMemory,
  FlowActionEsp,
  Gid,
  initAhFromWc,
  MemoryWindow,
  MwType,
  OpsWrOpcode,
  QpState,
  QpType,
  QueuePairEx,
  SendOpsFlags,
  SharedReceiveQueue,
  SrqType,
  type WorkCompletion,
  XrcDomain,
} from "../../../mod.ts";
import type { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { wq } from "./makers.ts";

/** A call, and the verb that it makes. */
export interface VerbCall {
  readonly verb: string;
  /** The error with which another verb is tried in its place. */
  readonly replaced?: string;
  /** Prepares what it is made on, and returns the function that makes it. */
  readonly prepare: (fixture: Fixture) => () => unknown;
}

function srq({ pd }: Fixture): SharedReceiveQueue {
  return new SharedReceiveQueue(pd, { maxWr: 4 });
}

function tags({ pd, cq }: Fixture): SharedReceiveQueue {
  const tmCap = { maxNumTags: 8, maxOps: 4 };
  return new SharedReceiveQueue(pd, { maxWr: 4, srqType: SrqType.TM, cq, tmCap });
}

function esp({ context }: Fixture): FlowActionEsp {
  return new FlowActionEsp(context, { keymat: { icvLen: 16, aesKey: new Uint8Array(16) } });
}

const GROUP = Gid.parse("ff0e::1");

/** Each method whose verb can fail. */
export const CALLS: Readonly<Record<string, VerbCall>> = {
  "Context.queryDevice": {
    verb: "ibv_query_device",
    prepare: ({ context }) => () => context.queryDevice(),
  },
  "Context.queryDeviceEx": {
    verb: "ibv_query_device_ex",
    replaced: "EOPNOTSUPP",
    prepare: ({ context }) => () => context.queryDeviceEx(),
  },
  "Context.queryRtValuesEx": {
    verb: "ibv_query_rt_values_ex",
    prepare: ({ context }) => () => context.queryRtValuesEx(),
  },
  "CompletionQueue.resize": {
    verb: "ibv_resize_cq",
    prepare: ({ cq }) => () => cq.resize(32),
  },
  "CompletionQueue.modify": {
    verb: "ibv_modify_cq",
    prepare: ({ cq }) => () => cq.modify({ moderate: { cqCount: 1, cqPeriod: 1 } }),
  },
  "CompletionQueue.reqNotify": {
    verb: "ibv_req_notify_cq",
    prepare: ({ context }) => {
      const channel = new CompletionChannel(context);
      const cq = new CompletionQueue(context, { cqe: 4, channel });
      return () => cq.reqNotify();
    },
  },
  "SharedReceiveQueue.modify": {
    verb: "ibv_modify_srq",
    prepare: (fixture) => {
      const queue = srq(fixture);
      return () => queue.modify({ srqLimit: 1 });
    },
  },
  "SharedReceiveQueue.query": {
    verb: "ibv_query_srq",
    prepare: (fixture) => {
      const queue = srq(fixture);
      return () => queue.query();
    },
  },
  "SharedReceiveQueue.postRecv": {
    verb: "ibv_post_srq_recv",
    prepare: (fixture) => {
      const queue = srq(fixture);
      return () => queue.postRecv({});
    },
  },
  "SharedReceiveQueue.srqNum": {
    verb: "ibv_get_srq_num",
    prepare: ({ context, pd, cq }) => {
      const xrcd = new XrcDomain(context);
      const init = { maxWr: 4, srqType: SrqType.XRC, xrcd, cq };
      const queue = new SharedReceiveQueue(pd, init);
      return () => queue.srqNum;
    },
  },
  "SharedReceiveQueue.postOps": {
    verb: "ibv_post_srq_ops",
    prepare: (fixture) => {
      const queue = tags(fixture);
      return () => queue.postOps({ opcode: OpsWrOpcode.TAG_ADD, tag: 5 });
    },
  },
  "adviseMr()": {
    verb: "ibv_advise_mr",
    prepare: ({ pd, mr }) => () => adviseMr(pd, AdviseMrAdvice.PREFETCH, 0, [mr.slice(0, 64)]),
  },
  "DeviceMemory.memcpyTo": {
    verb: "ibv_memcpy_to_dm",
    prepare: ({ context }) => {
      const dm = new DeviceMemory(context, { length: 64 });
      return () => dm.memcpyTo(0, new Uint8Array(8));
    },
  },
  "DeviceMemory.memcpyFrom": {
    verb: "ibv_memcpy_from_dm",
    prepare: ({ context }) => {
      const dm = new DeviceMemory(context, { length: 64 });
      return () => dm.memcpyFrom(0, 8);
    },
  },
  "QueuePair.bindMw": {
    verb: "ibv_bind_mw",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      const { pd, mr } = fixture;
      const mw = new MemoryWindow(pd, MwType.TYPE_1);
      return () => qp.bindMw(mw, { bindInfo: { mr, mwAccessFlags: 0 } });
    },
  },
  "QueuePair.modify": {
    verb: "ibv_modify_qp",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.modify({ qpState: QpState.ERR });
    },
  },
  "QueuePair.query": {
    verb: "ibv_query_qp",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.query();
    },
  },
  "QueuePair.modifyRateLimit": {
    verb: "ibv_modify_qp_rate_limit",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.modifyRateLimit({ rateLimit: 1 });
    },
  },
  "QueuePair.setEce": {
    verb: "ibv_set_ece",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.setEce({ vendorId: 1, options: 1 });
    },
  },
  "QueuePair.queryEce": {
    verb: "ibv_query_ece",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.queryEce();
    },
  },
  "QueuePair.attachMcast": {
    verb: "ibv_attach_mcast",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.UD);
      return () => qp.attachMcast(GROUP, 0);
    },
  },
  "QueuePair.detachMcast": {
    verb: "ibv_detach_mcast",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.UD);
      qp.attachMcast(GROUP, 0);
      return () => qp.detachMcast(GROUP, 0);
    },
  },
  "QueuePair.postSend": {
    verb: "ibv_post_send",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.postSend({});
    },
  },
  "QueuePair.postRecv": {
    verb: "ibv_post_recv",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RC);
      return () => qp.postRecv({});
    },
  },
  "WrBuilder.complete": {
    verb: "ibv_wr_complete",
    prepare: ({ pd, cq }) => {
      const cap = { maxSendWr: 4, maxRecvWr: 4 };
      const sendOpsFlags = SendOpsFlags.SEND;
      const init = { type: QpType.RC, sendCq: cq, recvCq: cq, cap, sendOpsFlags };
      const qp = new QueuePairEx(pd, init);
      return () => qp.wrStart().send().complete();
    },
  },
  "WorkQueue.modify": {
    verb: "ibv_modify_wq",
    prepare: (fixture) => {
      const queue = wq(fixture);
      return () => queue.modify({ wqState: 1 });
    },
  },
  "WorkQueue.postRecv": {
    verb: "ibv_post_wq_recv",
    prepare: (fixture) => {
      const queue = wq(fixture);
      return () => queue.postRecv({});
    },
  },
  "FlowActionEsp.modify": {
    verb: "ibv_modify_flow_action_esp",
    prepare: (fixture) => {
      const action = esp(fixture);
      return () => action.modify({ esn: 1 });
    },
  },
  "Counters.attach": {
    verb: "ibv_attach_counters_point_flow",
    prepare: ({ context }) => {
      const counters = new Counters(context);
      return () => counters.attach({ counterDesc: CounterDescription.PACKETS, index: 0 });
    },
  },
  "Counters.read": {
    verb: "ibv_read_counters",
    prepare: ({ context }) => {
      const counters = new Counters(context);
      return () => counters.read(1);
    },
  },
  "initAhFromWc()": {
    verb: "ibv_init_ah_from_wc",
    prepare: ({ context, cq }) => {
      recorder.complete("cq0", {});
      const wc = cq.poll()[0] as WorkCompletion;
      return () => initAhFromWc(context, 1, wc);
    },
  },
};
