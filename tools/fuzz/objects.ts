/** Attributes of objects and requests, as the recording provider gets them: all that C sees is what was given. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  CompletionQueueEx,
  Context,
  DeviceMemory,
  Flow,
  MemoryRegion,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  SharedReceiveQueue,
  VerbsError,
  WorkQueue,
  WqState,
  WrOpcode,
} from "../../mod.ts";
import type { RecordedStruct } from "../../tests/provider/records.ts";
import { wrong } from "./inputs.ts";
import { provider, recorded } from "./servers.ts";
import { expected, fc, same, type Target, target } from "./target.ts";

/** What requests and objects are made from. */
interface World {
  readonly context: Context;
  readonly pd: ProtectionDomain;
  readonly cq: CompletionQueue;
  readonly rc: QueuePair;
  readonly ud: QueuePair;
  readonly raw: QueuePair;
  readonly srq: SharedReceiveQueue;
  readonly wq: WorkQueue;
  readonly mr: MemoryRegion;
}

// Attributes come from the generator: whether they fit is what is tried.
// deno-lint-ignore no-explicit-any -- as above
type Attributes = any;

interface Row {
  /** The verb that gets the attributes. */
  readonly verb: string;
  /** The attributes and the C fields that they are written to. */
  readonly fields: Readonly<Record<string, string>>;
  readonly call: (world: World, attributes: Attributes) => Disposable | void;
}

const CAP = {
  ...{ maxSendWr: "cap.max_send_wr", maxRecvWr: "cap.max_recv_wr", maxSendSge: "cap.max_send_sge" },
  ...{ maxRecvSge: "cap.max_recv_sge", maxInlineData: "cap.max_inline_data" },
};

const ROWS: readonly Row[] = [
  {
    verb: "ibv_create_ah",
    fields: {
      ...{ dlid: "dlid", sl: "sl", srcPathBits: "src_path_bits", staticRate: "static_rate" },
    },
    call: ({ pd }, attr) => new AddressHandle(pd, { portNum: 1, dlid: 1, ...attr }),
  },
  {
    verb: "ibv_create_qp",
    fields: CAP,
    call: ({ pd, cq }, cap) => new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap }),
  },
  {
    verb: "ibv_create_qp_ex",
    fields: {
      ...{ createFlags: "create_flags", maxTsoHeader: "max_tso_header" },
    },
    call: ({ pd, cq }, init) =>
      new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, sendOpsFlags: 0, ...init }),
  },
  {
    verb: "ibv_modify_qp",
    fields: {
      ...{ qkey: "qkey", rqPsn: "rq_psn", sqPsn: "sq_psn", destQpNum: "dest_qp_num" },
      ...{ maxRdAtomic: "max_rd_atomic", maxDestRdAtomic: "max_dest_rd_atomic" },
      ...{ minRnrTimer: "min_rnr_timer", timeout: "timeout", retryCnt: "retry_cnt" },
      ...{ rnrRetry: "rnr_retry", pkeyIndex: "pkey_index", altPkeyIndex: "alt_pkey_index" },
      ...{ altTimeout: "alt_timeout", rateLimit: "rate_limit" },
      qpAccessFlags: "qp_access_flags",
    },
    call: ({ rc }, attr) => rc.modify({ qpState: QpState.INIT, portNum: 1, ...attr }),
  },
  {
    verb: "ibv_create_srq",
    fields: { maxWr: "attr.max_wr", maxSge: "attr.max_sge" },
    call: ({ pd }, init) => new SharedReceiveQueue(pd, { maxWr: 4, ...init }),
  },
  {
    verb: "ibv_modify_srq",
    fields: { maxWr: "max_wr", srqLimit: "srq_limit" },
    call: ({ srq }, attr) => srq.modify(attr),
  },
  {
    verb: "ibv_create_wq",
    fields: { maxWr: "max_wr", maxSge: "max_sge", createFlags: "create_flags" },
    call: ({ pd, cq }, init) => new WorkQueue(pd, { maxWr: 4, maxSge: 1, cq, ...init }),
  },
  {
    verb: "ibv_modify_wq",
    fields: { flags: "flags", flagsMask: "flags_mask" },
    call: ({ wq }, attr) => wq.modify({ wqState: WqState.RDY, ...attr }),
  },
  {
    verb: "ibv_modify_cq",
    fields: { cqCount: "moderate.cq_count", cqPeriod: "moderate.cq_period" },
    call: ({ cq }, moderate) => cq.modify({ moderate: { cqCount: 1, cqPeriod: 1, ...moderate } }),
  },
  {
    verb: "ibv_create_cq_ex",
    fields: { cqe: "cqe", compVector: "comp_vector", flags: "flags" },
    call: ({ context }, init) => new CompletionQueueEx(context, { cqe: 4, ...init }),
  },
  {
    verb: "ibv_alloc_dm",
    fields: { length: "length", logAlignReq: "log_align_req" },
    call: ({ context }, attr) => new DeviceMemory(context, { length: 64, ...attr }),
  },
  {
    verb: "ibv_create_flow",
    fields: { priority: "priority", flags: "flags" },
    call: ({ raw }, attr) => new Flow(raw, { port: 1, ...attr }),
  },
  {
    verb: "ibv_post_recv",
    fields: { wrId: "wr_id" },
    call: ({ rc, mr }, request) => rc.postRecv({ sge: mr.slice(0, 8), ...request }),
  },
  {
    verb: "ibv_post_send",
    fields: {
      ...{ wrId: "wr_id", remoteAddr: "wr.rdma.remote_addr", rkey: "wr.rdma.rkey" },
      immData: "imm_data",
    },
    call: ({ rc, mr }, request) =>
      rc.postSend({
        ...{ opcode: WrOpcode.RDMA_WRITE_WITH_IMM, sge: mr.slice(0, 8) },
        ...{ remoteAddr: 0, rkey: 0, immData: 0, ...request },
      }),
  },
];

const attributesOf = (row: Row): fc.Arbitrary<[Row, Record<string, unknown>]> => {
  const value = fc.oneof(
    // Some fields have few bits, and one value out of range hides the others.
    { weight: 30, arbitrary: fc.nat(7) },
    { weight: 3, arbitrary: fc.nat(255) },
    { weight: 1, arbitrary: fc.nat(0xffff) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number) },
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
    { weight: 1, arbitrary: wrong },
  );
  const model = Object.fromEntries(Object.keys(row.fields).map((name) => [name, value]));
  return fc.record(model, { requiredKeys: [] }).map((attributes) => [row, attributes]);
};

function makeWorld(): World & Disposable {
  const context = Context.open("recorder0");
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 16 });
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const make = (type: QpType): QueuePair =>
    new QueuePair(pd, { type, sendCq: cq, recvCq: cq, cap });
  const [rc, ud, raw] = [make(QpType.RC), make(QpType.UD), make(QpType.RAW_PACKET)];
  const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
  const wq = new WorkQueue(pd, { maxWr: 4, maxSge: 1, cq });
  const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
  return { context, pd, cq, rc, ud, raw, srq, wq, mr, [Symbol.dispose]: () => context.close() };
}

type Recorder = Awaited<ReturnType<typeof provider>>;

function check(
  recorder: Recorder,
  world: World,
  [row, attributes]: [Row, Record<string, unknown>],
): void {
  recorder.take();
  let made: Disposable | void;
  try {
    made = row.call(world, attributes);
  } catch (error) {
    expected(error, TypeError, RangeError, VerbsError);
    return;
  }
  const { args } = recorder.takeOne(row.verb);
  made?.[Symbol.dispose]();
  const structs = Object.values(args).filter((arg) => typeof arg === "object" && arg !== null);
  for (const [name, value] of Object.entries(attributes)) {
    const field = row.fields[name]!;
    const seen = (structs as RecordedStruct[]).map(({ fields }) => fields[field])
      .find((found) => found !== undefined);
    if (value !== undefined) {
      same(BigInt(seen as number), BigInt(value as number), `${row.verb}: ${name}`);
    }
  }
}

/** Attributes as a provider gets them. */
export const OBJECTS: readonly Target[] = [
  target(
    {
      name: "objects",
      refused: [20, 40],
      what: `${ROWS.length} verbs on the recorder: each attribute reaches C, or is refused`,
    },
    [fc.array(fc.constantFrom(...ROWS).chain(attributesOf), {
      minLength: 1,
      maxLength: 40,
      size: "max",
    })],
    (calls) =>
      recorded(calls, async () => {
        const recorder = await provider();
        using world = makeWorld();
        for (const call of calls) check(recorder, world, call);
      }),
  ),
];
