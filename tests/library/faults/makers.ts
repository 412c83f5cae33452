// What can be made on the recorder, with the verbs that make and destroy it.
import {
  AccessFlags,
  CompletionChannel,
  CompletionQueue,
  CompletionQueueEx,
  Context,
  Counters,
  CreateCqAttrFlags,
  DeviceMemory,
  DeviceMemoryRegion,
  DmaBufMemoryRegion,
  Flow,
  FlowActionEsp,
  type FlowSpec,
  FlowSpecType,
  ImplicitMemoryRegion,
  ImportedMemoryRegion,
  ImportedProtectionDomain,
  MemoryRegion,
  MemoryWindow,
  MwType,
  NullMemoryRegion,
  OpenedQueuePair,
  ParentDomain,
  ProtectionDomain,
  QpCreateFlags,
  type QpInitAttr,
  QpType,
  QueuePair,
  QueuePairEx,
  type Resource,
  RwqIndirectionTable,
  SendOpsFlags,
  SharedReceiveQueue,
  SrqType,
  ThreadDomain,
  WorkQueue,
  XrcDomain,
} from "../../../mod.ts";
import { ACCESS, type Fixture, MEMORY } from "../../provider/fixture.ts";

type Verbs = readonly [create: string, destroy?: string | undefined];

/** What is made, with the verbs that make and destroy it. */
export interface Maker {
  readonly create: string;
  /** The verb that ends it, unless that cannot fail. */
  readonly destroy: string | undefined;
  /** Prepares what it is made from, and returns the function that makes it. */
  readonly prepare: (fixture: Fixture) => () => Resource;
}

function from<T>(
  prepare: (fixture: Fixture) => T,
  [create, destroy]: Verbs,
  make: (from: T, fixture: Fixture) => Resource,
): Maker {
  const prepared = (fixture: Fixture): () => Resource => {
    const made = prepare(fixture.whole);
    return () => make(made, fixture);
  };
  return { create, destroy, prepare: prepared };
}

function maker(
  create: string,
  destroy: string | undefined,
  make: (fixture: Fixture) => Resource,
): Maker {
  return from(({ whole }) => whole, [create, destroy], make);
}

const region = (create: string, make: (fixture: Fixture) => Resource): Maker =>
  maker(create, "ibv_dereg_mr", make);
const srq = (create: string, make: (fixture: Fixture) => Resource): Maker =>
  maker(create, "ibv_destroy_srq", make);

const CAP = { maxSendWr: 4, maxRecvWr: 4 };

function queues({ cq }: Fixture, type: QpType = QpType.RC): QpInitAttr {
  return { type, sendCq: cq, recvCq: cq, cap: CAP };
}

export function xrcdOf({ context }: Fixture): XrcDomain {
  return new XrcDomain(context);
}

/** A receive work queue. */
export function wqOf({ pd, cq }: Fixture): WorkQueue {
  return new WorkQueue(pd, { cq, maxWr: 4, maxSge: 1 });
}

export function dmOf({ context }: Fixture): DeviceMemory {
  return new DeviceMemory(context, { length: 64 });
}

export function srqOf({ pd }: Fixture): SharedReceiveQueue {
  return new SharedReceiveQueue(pd, { maxWr: 4 });
}

export function xrcSrqOf({ pd, cq }: Fixture, xrcd: XrcDomain): SharedReceiveQueue {
  return new SharedReceiveQueue(pd, { maxWr: 4, srqType: SrqType.XRC, xrcd, cq });
}

export function tagSrqOf({ pd, cq }: Fixture): SharedReceiveQueue {
  const tmCap = { maxNumTags: 8, maxOps: 4 };
  return new SharedReceiveQueue(pd, { maxWr: 4, srqType: SrqType.TM, cq, tmCap });
}

export function qpExOf(fixture: Fixture): QueuePairEx {
  const sendOpsFlags = SendOpsFlags.SEND;
  return new QueuePairEx(fixture.pd, { ...queues(fixture), sendOpsFlags });
}

export function espOf({ context }: Fixture): FlowActionEsp {
  return new FlowActionEsp(context, { keymat: { icvLen: 16, aesKey: new Uint8Array(16) } });
}

export function countersOf({ context }: Fixture): Counters {
  return new Counters(context);
}

function rawOf(fixture: Fixture): QueuePair {
  return fixture.qp(QpType.RAW_PACKET);
}

function specsOf(fixture: Fixture): { readonly qp: QueuePair; readonly specs: FlowSpec[] } {
  const action = { type: FlowSpecType.ACTION_HANDLE, action: espOf(fixture) };
  const count = { type: FlowSpecType.ACTION_COUNT, counters: countersOf(fixture) };
  return { qp: rawOf(fixture), specs: [action, count] };
}

function sharedQpOf(fixture: Fixture): { readonly xrcd: XrcDomain; readonly qpNum: number } {
  const xrcd = xrcdOf(fixture);
  const { qpNum } = new QueuePair(fixture.pd, { type: QpType.XRC_RECV, xrcd });
  return { xrcd, qpNum };
}

const { BLOCK_SELF_MCAST_LB } = QpCreateFlags;
const { SINGLE_THREADED } = CreateCqAttrFlags;
const OPEN = ["ibv_open_device", "ibv_close_device"] as const;
const CREATE_QP = ["ibv_create_qp", "ibv_destroy_qp"] as const;
const CREATE_QP_EX = ["ibv_create_qp_ex", "ibv_destroy_qp"] as const;
const CREATE_FLOW = ["ibv_create_flow", "ibv_destroy_flow"] as const;

/** Every class, and each verb that makes its objects. */
export const MAKERS: Readonly<Record<string, Maker>> = {
  Context: maker(...OPEN, () => Context.open("recorder0")),
  "Context of an imported device": maker("ibv_import_device", OPEN[1], () => Context.import(5)),
  ProtectionDomain: maker("ibv_alloc_pd", "ibv_dealloc_pd", (f) => new ProtectionDomain(f.context)),
  ImportedProtectionDomain: maker(
    "ibv_import_pd",
    undefined,
    ({ context, pd }) => new ImportedProtectionDomain(context, pd.handle),
  ),
  ParentDomain: from(
    ({ context }) => new ThreadDomain(context),
    ["ibv_alloc_parent_domain", "ibv_dealloc_pd"],
    (td, { pd }) => new ParentDomain(pd, { td, alignment: 64 }),
  ),
  ThreadDomain: maker("ibv_alloc_td", "ibv_dealloc_td", (f) => new ThreadDomain(f.context)),
  XrcDomain: maker("ibv_open_xrcd", "ibv_close_xrcd", xrcdOf),
  MemoryRegion: region("ibv_reg_mr", ({ pd }) => new MemoryRegion(pd, MEMORY, ACCESS)),
  "MemoryRegion with addresses of its own": region(
    "ibv_reg_mr_iova",
    ({ pd }) => new MemoryRegion(pd, MEMORY, ACCESS, { iova: 0x1000 }),
  ),
  ImplicitMemoryRegion: region("ibv_reg_mr", ({ pd }) => new ImplicitMemoryRegion(pd, ACCESS)),
  DmaBufMemoryRegion: region(
    "ibv_reg_dmabuf_mr",
    ({ pd }) => new DmaBufMemoryRegion(pd, { fd: 5, length: 64, access: ACCESS }),
  ),
  NullMemoryRegion: region("ibv_alloc_null_mr", ({ pd }) => new NullMemoryRegion(pd)),
  ImportedMemoryRegion: maker(
    "ibv_import_mr",
    undefined,
    ({ pd, mr }) => new ImportedMemoryRegion(pd, mr.handle, { addr: mr.addr }),
  ),
  DeviceMemory: maker("ibv_alloc_dm", "ibv_free_dm", dmOf),
  "DeviceMemory of another process": from(
    dmOf,
    ["ibv_import_dm"],
    ({ handle }, { context }) => DeviceMemory.import(context, handle, 64),
  ),
  DeviceMemoryRegion: from(
    dmOf,
    ["ibv_reg_dm_mr", "ibv_dereg_mr"],
    (dm, { pd }) => new DeviceMemoryRegion(pd, dm, { access: AccessFlags.ZERO_BASED }),
  ),
  MemoryWindow: maker(
    "ibv_alloc_mw",
    "ibv_dealloc_mw",
    ({ pd }) => new MemoryWindow(pd, MwType.TYPE_2),
  ),
  CompletionChannel: maker(
    "ibv_create_comp_channel",
    "ibv_destroy_comp_channel",
    ({ context }) => new CompletionChannel(context),
  ),
  CompletionQueue: maker(
    "ibv_create_cq",
    "ibv_destroy_cq",
    ({ context }) => new CompletionQueue(context, { cqe: 4, channel: null }),
  ),
  CompletionQueueEx: from(
    ({ pd }) => new ParentDomain(pd),
    ["ibv_create_cq_ex", "ibv_destroy_cq"],
    (parentDomain, { context }) => {
      const init = { cqe: 4, channel: null, flags: SINGLE_THREADED, parentDomain };
      return new CompletionQueueEx(context, init);
    },
  ),
  SharedReceiveQueue: srq("ibv_create_srq", srqOf),
  "SharedReceiveQueue of an XRC domain": from(
    xrcdOf,
    ["ibv_create_srq_ex", "ibv_destroy_srq"],
    (xrcd, fixture) => xrcSrqOf(fixture, xrcd),
  ),
  "SharedReceiveQueue with tags": srq("ibv_create_srq_ex", tagSrqOf),
  QueuePair: maker(...CREATE_QP, (fixture) => fixture.qp(QpType.RC)),
  "QueuePair with extensions": maker(...CREATE_QP_EX, (fixture) => {
    const init = { ...queues(fixture, QpType.UD), createFlags: BLOCK_SELF_MCAST_LB };
    return new QueuePair(fixture.pd, init);
  }),
  "QueuePair with a shared receive queue": from(srqOf, CREATE_QP, (srq, fixture) => {
    return new QueuePair(fixture.pd, { ...queues(fixture), srq, cap: { maxSendWr: 4 } });
  }),
  "QueuePair of an XRC domain": from(xrcdOf, CREATE_QP_EX, (xrcd, { pd }) => {
    return new QueuePair(pd, { type: QpType.XRC_RECV, xrcd });
  }),
  OpenedQueuePair: from(sharedQpOf, ["ibv_open_qp", "ibv_destroy_qp"], (of) => {
    return new OpenedQueuePair(of);
  }),
  QueuePairEx: maker(...CREATE_QP_EX, qpExOf),
  AddressHandle: maker("ibv_create_ah", "ibv_destroy_ah", (fixture) => fixture.ah()),
  WorkQueue: maker("ibv_create_wq", "ibv_destroy_wq", wqOf),
  RwqIndirectionTable: from(
    (fixture) => [wqOf(fixture), wqOf(fixture)],
    ["ibv_create_rwq_ind_table", "ibv_destroy_rwq_ind_table"],
    (queues, { context }) => new RwqIndirectionTable(context, queues),
  ),
  Flow: from(rawOf, CREATE_FLOW, (qp) => new Flow(qp, { port: 1, specs: [] })),
  "Flow with an action and counters": from(specsOf, CREATE_FLOW, ({ qp, specs }) => {
    return new Flow(qp, { port: 1, specs });
  }),
  FlowActionEsp: maker("ibv_create_flow_action_esp", "ibv_destroy_flow_action", espOf),
  Counters: maker("ibv_create_counters", "ibv_destroy_counters", countersOf),
};
