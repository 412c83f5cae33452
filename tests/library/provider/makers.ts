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

/** What is made, with the verbs that make and destroy it. */
export interface Maker {
  readonly create: string;
  /** The verb that ends it, unless that cannot fail. */
  readonly destroy?: string;
  /** Prepares what it is made from, and returns the function that makes it. */
  readonly prepare: (fixture: Fixture) => () => Resource;
}

/** A receive work queue. */
export function wq({ pd, cq }: Fixture): WorkQueue {
  return new WorkQueue(pd, { cq, maxWr: 4, maxSge: 1 });
}

const CAP = { maxSendWr: 4, maxRecvWr: 4 };

/** Every class, and each verb that makes its objects. */
export const MAKERS: Readonly<Record<string, Maker>> = {
  Context: {
    create: "ibv_open_device",
    destroy: "ibv_close_device",
    prepare: () => () => Context.open("recorder0"),
  },
  ProtectionDomain: {
    create: "ibv_alloc_pd",
    destroy: "ibv_dealloc_pd",
    prepare: ({ context }) => () => new ProtectionDomain(context),
  },
  MemoryRegion: {
    create: "ibv_reg_mr",
    destroy: "ibv_dereg_mr",
    prepare: ({ pd }) => () => new MemoryRegion(pd, MEMORY, ACCESS),
  },
  CompletionChannel: {
    create: "ibv_create_comp_channel",
    destroy: "ibv_destroy_comp_channel",
    prepare: ({ context }) => () => new CompletionChannel(context),
  },
  CompletionQueue: {
    create: "ibv_create_cq",
    destroy: "ibv_destroy_cq",
    prepare: ({ context }) => () => new CompletionQueue(context, { cqe: 4, channel: null }),
  },
  QueuePair: {
    create: "ibv_create_qp",
    destroy: "ibv_destroy_qp",
    prepare: (fixture) => {
      fixture.pd;
      fixture.cq;
      return () => fixture.qp(QpType.RC);
    },
  },
  "QueuePair with extensions": {
    create: "ibv_create_qp_ex",
    destroy: "ibv_destroy_qp",
    prepare: ({ pd, cq }) => () => {
      const createFlags = QpCreateFlags.BLOCK_SELF_MCAST_LB;
      const init = { type: QpType.UD, sendCq: cq, recvCq: cq, cap: CAP, createFlags };
      return new QueuePair(pd, init);
    },
  },
  AddressHandle: {
    create: "ibv_create_ah",
    destroy: "ibv_destroy_ah",
    prepare: (fixture) => {
      fixture.pd;
      return () => fixture.ah();
    },
  },
  WorkQueue: {
    create: "ibv_create_wq",
    destroy: "ibv_destroy_wq",
    prepare: (fixture) => {
      fixture.pd;
      fixture.cq;
      return () => wq(fixture);
    },
  },
  RwqIndirectionTable: {
    create: "ibv_create_rwq_ind_table",
    destroy: "ibv_destroy_rwq_ind_table",
    prepare: (fixture) => {
      const queues = [wq(fixture), wq(fixture)];
      return () => new RwqIndirectionTable(fixture.context, queues);
    },
  },
  Flow: {
    create: "ibv_create_flow",
    destroy: "ibv_destroy_flow",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RAW_PACKET);
      return () => new Flow(qp, { port: 1, specs: [] });
    },
  },
  FlowActionEsp: {
    create: "ibv_create_flow_action_esp",
    destroy: "ibv_destroy_flow_action",
    prepare: ({ context }) => () => {
      const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
      return new FlowActionEsp(context, { espAttr: {}, keymat });
    },
  },
  Counters: {
    create: "ibv_create_counters",
    destroy: "ibv_destroy_counters",
    prepare: ({ context }) => () => new Counters(context),
  },
  "Context of an imported device": {
    create: "ibv_import_device",
    destroy: "ibv_close_device",
    prepare: () => () => Context.import(5),
  },
  ImportedProtectionDomain: {
    create: "ibv_import_pd",
    prepare: ({ context, pd }) => () => new ImportedProtectionDomain(context, pd.handle),
  },
  ParentDomain: {
    create: "ibv_alloc_parent_domain",
    destroy: "ibv_dealloc_pd",
    prepare: ({ context, pd }) => {
      const td = new ThreadDomain(context);
      return () => new ParentDomain(pd, { td, alignment: 64 });
    },
  },
  ThreadDomain: {
    create: "ibv_alloc_td",
    destroy: "ibv_dealloc_td",
    prepare: ({ context }) => () => new ThreadDomain(context),
  },
  XrcDomain: {
    create: "ibv_open_xrcd",
    destroy: "ibv_close_xrcd",
    prepare: ({ context }) => () => new XrcDomain(context),
  },
  "MemoryRegion with addresses of its own": {
    create: "ibv_reg_mr_iova",
    destroy: "ibv_dereg_mr",
    prepare: ({ pd }) => () => new MemoryRegion(pd, MEMORY, ACCESS, { iova: 0x1000 }),
  },
  ImplicitMemoryRegion: {
    create: "ibv_reg_mr",
    destroy: "ibv_dereg_mr",
    prepare: ({ pd }) => () => new ImplicitMemoryRegion(pd, ACCESS),
  },
  DmaBufMemoryRegion: {
    create: "ibv_reg_dmabuf_mr",
    destroy: "ibv_dereg_mr",
    prepare: ({ pd }) => () => new DmaBufMemoryRegion(pd, { fd: 5, length: 64, access: ACCESS }),
  },
  NullMemoryRegion: {
    create: "ibv_alloc_null_mr",
    destroy: "ibv_dereg_mr",
    prepare: ({ pd }) => () => new NullMemoryRegion(pd),
  },
  ImportedMemoryRegion: {
    create: "ibv_import_mr",
    prepare: ({ pd, mr }) => () => new ImportedMemoryRegion(pd, mr.handle, { addr: mr.addr }),
  },
  DeviceMemory: {
    create: "ibv_alloc_dm",
    destroy: "ibv_free_dm",
    prepare: ({ context }) => () => new DeviceMemory(context, { length: 64 }),
  },
  "DeviceMemory of another process": {
    create: "ibv_import_dm",
    prepare: ({ context }) => {
      const { handle } = new DeviceMemory(context, { length: 64 });
      return () => DeviceMemory.import(context, handle, 64);
    },
  },
  DeviceMemoryRegion: {
    create: "ibv_reg_dm_mr",
    destroy: "ibv_dereg_mr",
    prepare: ({ context, pd }) => {
      const dm = new DeviceMemory(context, { length: 64 });
      return () => new DeviceMemoryRegion(pd, dm, { access: AccessFlags.ZERO_BASED });
    },
  },
  MemoryWindow: {
    create: "ibv_alloc_mw",
    destroy: "ibv_dealloc_mw",
    prepare: ({ pd }) => () => new MemoryWindow(pd, MwType.TYPE_2),
  },
  CompletionQueueEx: {
    create: "ibv_create_cq_ex",
    destroy: "ibv_destroy_cq",
    prepare: ({ context, pd }) => {
      const parentDomain = new ParentDomain(pd);
      const flags = CreateCqAttrFlags.SINGLE_THREADED;
      const init = { cqe: 4, channel: null, flags, parentDomain };
      return () => new CompletionQueueEx(context, init);
    },
  },
  SharedReceiveQueue: {
    create: "ibv_create_srq",
    destroy: "ibv_destroy_srq",
    prepare: ({ pd }) => () => new SharedReceiveQueue(pd, { maxWr: 4 }),
  },
  "SharedReceiveQueue of an XRC domain": {
    create: "ibv_create_srq_ex",
    destroy: "ibv_destroy_srq",
    prepare: ({ context, pd, cq }) => {
      const xrcd = new XrcDomain(context);
      const init = { maxWr: 4, srqType: SrqType.XRC, xrcd, cq };
      return () => new SharedReceiveQueue(pd, init);
    },
  },
  "SharedReceiveQueue with tags": {
    create: "ibv_create_srq_ex",
    destroy: "ibv_destroy_srq",
    prepare: ({ pd, cq }) => {
      const tmCap = { maxNumTags: 8, maxOps: 4 };
      return () => new SharedReceiveQueue(pd, { maxWr: 4, srqType: SrqType.TM, cq, tmCap });
    },
  },
  QueuePairEx: {
    create: "ibv_create_qp_ex",
    destroy: "ibv_destroy_qp",
    prepare: ({ pd, cq }) => () => {
      const sendOpsFlags = SendOpsFlags.SEND;
      const init = { type: QpType.RC, sendCq: cq, recvCq: cq, cap: CAP, sendOpsFlags };
      return new QueuePairEx(pd, init);
    },
  },
  "QueuePair with a shared receive queue": {
    create: "ibv_create_qp",
    destroy: "ibv_destroy_qp",
    prepare: ({ pd, cq }) => {
      const srq = new SharedReceiveQueue(pd, { maxWr: 4 });
      const cap = { maxSendWr: 4 };
      return () => new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, srq, cap });
    },
  },
  "QueuePair of an XRC domain": {
    create: "ibv_create_qp_ex",
    destroy: "ibv_destroy_qp",
    prepare: ({ context, pd }) => {
      const xrcd = new XrcDomain(context);
      return () => new QueuePair(pd, { type: QpType.XRC_RECV, xrcd });
    },
  },
  OpenedQueuePair: {
    create: "ibv_open_qp",
    destroy: "ibv_destroy_qp",
    prepare: ({ context, pd }) => {
      const xrcd = new XrcDomain(context);
      const { qpNum } = new QueuePair(pd, { type: QpType.XRC_RECV, xrcd });
      return () => new OpenedQueuePair({ xrcd, qpNum });
    },
  },
  "Flow with an action and counters": {
    create: "ibv_create_flow",
    destroy: "ibv_destroy_flow",
    prepare: (fixture) => {
      const qp = fixture.qp(QpType.RAW_PACKET);
      const { context } = fixture;
      const keymat = { icvLen: 16, aesKey: new Uint8Array(16) };
      const specs = [
        { type: FlowSpecType.ACTION_HANDLE, action: new FlowActionEsp(context, { keymat }) },
        { type: FlowSpecType.ACTION_COUNT, counters: new Counters(context) },
      ] as const;
      return () => new Flow(qp, { port: 1, specs });
    },
  },
};
