// Every call that can fail on the recorder, with the verb that fails.
import {
  AccessFlags,
  AddressHandle,
  adviseMr,
  AdviseMrAdvice,
  CompletionChannel,
  CompletionQueue,
  CompletionQueueEx,
  CounterDescription,
  forkInit,
  Gid,
  initAhFromWc,
  initAhFromWcAsync,
  listDevices,
  MemoryRegion,
  MemoryWindow,
  MwType,
  type NativeResource,
  OpsWrOpcode,
  QpState,
  QpType,
  type QueuePair,
  reregMr,
  resolveEthL2FromGid,
  resolveEthL2FromGidAsync,
  type WcAddress,
} from "../../../mod.ts";
import type { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import {
  countersOf,
  dmOf,
  espOf,
  MAKERS,
  qpExOf,
  srqOf,
  tagSrqOf,
  wqOf,
  xrcdOf,
  xrcSrqOf,
} from "./makers.ts";

/** A call, and the verb in it that fails. */
export interface Attempt {
  /** The verb as the table of bindings has it. */
  readonly verb: string;
  /** Its name for the recorder and in the error, where these differ. */
  readonly recorded?: string;
  readonly reported?: string;
  /** Errors that do not reach the caller, with what happens instead. */
  readonly handled?: Readonly<Record<string, string>>;
  /** What it returns for an error, if that is neither NULL, -1 nor the errno value itself. */
  readonly result?: (errno: number) => bigint;
  /** Whether another thread calls the verb. */
  readonly elsewhere?: true;
  /** Prepares what it is made on, and returns the function that makes it. */
  readonly prepare: (fixture: Fixture) => () => unknown;
}

const WC: WcAddress = { wcFlags: 0, slid: 1, sl: 0, dlidPathBits: 0 };
const ATTR = {
  portNum: 1,
  grh: { dgid: Gid.parse("::ffff:10.0.0.2"), sgidIndex: 1, hopLimit: 64 },
};
const { LOCAL_WRITE, RELAXED_ORDERING } = AccessFlags;

const ANOTHER_VERB = "ibv_query_device is tried in its place";
const READ_AGAIN = "there is no event yet, and the wait goes on";

const GROUP = Gid.parse("ff0e::1");

type How = Omit<Attempt, "verb" | "prepare">;

/** A call on what is made for it. */
function on<T>(
  make: (fixture: Fixture) => T,
  verb: string,
  call: (made: T, fixture: Fixture) => unknown,
  how: How = {},
): Attempt {
  const prepare = (fixture: Fixture): () => unknown => {
    const made = make(fixture.whole);
    return () => call(made, fixture);
  };
  return { verb, prepare, ...how };
}

/** A call on what every fixture has. */
function plain(verb: string, call: (fixture: Fixture) => unknown, how: How = {}): Attempt {
  return on(({ whole }) => whole, verb, call, how);
}

const rc = (fixture: Fixture): QueuePair => fixture.qp(QpType.RC);

function inGroup(fixture: Fixture): QueuePair {
  const qp = fixture.qp(QpType.UD);
  qp.attachMcast(GROUP, 0);
  return qp;
}

function bound(fixture: Fixture): { readonly qp: QueuePair; readonly mw: MemoryWindow } {
  return { qp: rc(fixture), mw: new MemoryWindow(fixture.pd, MwType.TYPE_1) };
}

/** Each method whose verb can fail, apart from what follows. */
export const CALLS: Readonly<Record<string, Attempt>> = {
  "Context.queryDevice": plain("ibv_query_device", ({ context }) => context.queryDevice()),
  "Context.queryDeviceEx": plain("ibv_query_device_ex", ({ context }) => context.queryDeviceEx(), {
    handled: { EOPNOTSUPP: ANOTHER_VERB, ENOSYS: ANOTHER_VERB },
  }),
  "Context.queryRtValuesEx": plain("ibv_query_rt_values_ex", (f) => f.context.queryRtValuesEx()),
  "CompletionQueue.resize": plain("ibv_resize_cq", ({ cq }) => cq.resize(32)),
  "CompletionQueue.modify": plain(
    "ibv_modify_cq",
    ({ cq }) => cq.modify({ moderate: { cqCount: 1, cqPeriod: 1 } }),
  ),
  "CompletionQueue.reqNotify": on(notifying, "ibv_req_notify_cq", ({ cq }) => cq.reqNotify()),
  "SharedReceiveQueue.modify": on(srqOf, "ibv_modify_srq", (srq) => srq.modify({ srqLimit: 1 })),
  "SharedReceiveQueue.query": on(srqOf, "ibv_query_srq", (srq) => srq.query()),
  "SharedReceiveQueue.postRecv": on(srqOf, "ibv_post_srq_recv", (srq) => srq.postRecv({})),
  "SharedReceiveQueue.srqNum": on(
    (fixture) => xrcSrqOf(fixture, xrcdOf(fixture)),
    "ibv_get_srq_num",
    (srq) => srq.srqNum,
  ),
  "SharedReceiveQueue.postOps": on(
    tagSrqOf,
    "ibv_post_srq_ops",
    (srq) => srq.postOps({ opcode: OpsWrOpcode.TAG_ADD, tag: 5 }),
  ),
  "adviseMr()": plain(
    "ibv_advise_mr",
    ({ pd, mr }) => adviseMr(pd, AdviseMrAdvice.PREFETCH, 0, [mr.slice(0, 64)]),
  ),
  "DeviceMemory.memcpyTo": on(
    dmOf,
    "ibv_memcpy_to_dm",
    (dm) => dm.memcpyTo(0, new Uint8Array(8)),
  ),
  "DeviceMemory.memcpyFrom": on(dmOf, "ibv_memcpy_from_dm", (dm) => dm.memcpyFrom(0, 8)),
  "QueuePair.bindMw": on(
    bound,
    "ibv_bind_mw",
    ({ qp, mw }, { mr }) => qp.bindMw(mw, { bindInfo: { mr, mwAccessFlags: 0 } }),
  ),
  "QueuePair.modify": on(rc, "ibv_modify_qp", (qp) => qp.modify({ qpState: QpState.ERR })),
  "QueuePair.query": on(rc, "ibv_query_qp", (qp) => qp.query()),
  "QueuePair.modifyRateLimit": on(
    rc,
    "ibv_modify_qp_rate_limit",
    (qp) => qp.modifyRateLimit({ rateLimit: 1 }),
  ),
  "QueuePair.setEce": on(rc, "ibv_set_ece", (qp) => qp.setEce({ vendorId: 1, options: 1 })),
  "QueuePair.queryEce": on(rc, "ibv_query_ece", (qp) => qp.queryEce()),
  "QueuePair.attachMcast": on(
    (fixture) => fixture.qp(QpType.UD),
    "ibv_attach_mcast",
    (qp) => qp.attachMcast(GROUP, 0),
  ),
  "QueuePair.detachMcast": on(inGroup, "ibv_detach_mcast", (qp) => qp.detachMcast(GROUP, 0)),
  "QueuePair.postSend": on(rc, "ibv_post_send", (qp) => qp.postSend({})),
  "QueuePair.postRecv": on(rc, "ibv_post_recv", (qp) => qp.postRecv({})),
  "WrBuilder.complete": on(qpExOf, "ibv_wr_complete", (qp) => qp.wrStart().send().complete()),
  "WorkQueue.modify": on(wqOf, "ibv_modify_wq", (wq) => wq.modify({ wqState: 1 })),
  "WorkQueue.postRecv": on(wqOf, "ibv_post_wq_recv", (wq) => wq.postRecv({})),
  "FlowActionEsp.modify": on(
    espOf,
    "ibv_modify_flow_action_esp",
    (action) => action.modify({ esn: 1 }),
  ),
  "Counters.attach": on(
    countersOf,
    "ibv_attach_counters_point_flow",
    (counters) => counters.attach({ counterDesc: CounterDescription.PACKETS, index: 0 }),
  ),
  "Counters.read": on(countersOf, "ibv_read_counters", (counters) => counters.read(1)),
  "initAhFromWc()": plain(
    "ibv_init_ah_from_wc",
    ({ context }) => initAhFromWc(context, 1, WC),
  ),
};

interface Notifying {
  readonly channel: CompletionChannel;
  readonly cq: CompletionQueue;
}

function notifying({ context }: Fixture): Notifying {
  const channel = new CompletionChannel(context);
  return { channel, cq: new CompletionQueue(context, { cqe: 4, channel }) };
}

async function cqEvent(fixture: Notifying): Promise<void> {
  const event = fixture.channel.getCqEvent();
  // The fixture has a queue of its own.
  recorder.sendCqEvent("cq1");
  await event;
}

async function asyncEvent({ context }: Fixture): Promise<void> {
  const events = context.events();
  const next = events.next();
  recorder.sendAsyncEvent(9, 1);
  try {
    await next;
  } finally {
    await events.return();
  }
}

function beforePorts(fixture: Fixture): Fixture {
  recorder.overwrite("context0", "query_port", 0n);
  return fixture;
}

const QUERY_PORT = "ibv_query_port";
const RESOLVE = "ibv_resolve_eth_l2_from_gid";
const REREAD = { handled: { EAGAIN: READ_AGAIN, EINTR: READ_AGAIN } };
const REGISTERED = { reported: "ibv_reg_mr" };
const elsewhere = true;

const OTHERS: Readonly<Record<string, Attempt>> = {
  "listDevices()": plain("ibv_get_device_list", () => listDevices(), {
    handled: { ENOSYS: "the kernel has no RDMA module, so that the list is empty" },
  }),
  "forkInit()": plain("ibv_fork_init", () => forkInit()),
  "Context.queryPort": plain(QUERY_PORT, ({ context }) => context.queryPort(1), {
    recorded: "___ibv_query_port",
  }),
  "Context.queryPort of an old context": on(
    beforePorts,
    "_compat_ibv_query_port",
    ({ context }) => context.queryPort(1),
    { recorded: QUERY_PORT, reported: QUERY_PORT },
  ),
  "Context.queryGid": plain("ibv_query_gid", ({ context }) => context.queryGid(1, 0)),
  "Context.queryGidEx": plain("_ibv_query_gid_ex", ({ context }) => context.queryGidEx(1, 0), {
    reported: "ibv_query_gid_ex",
  }),
  "Context.gidTable": plain("_ibv_query_gid_table", ({ context }) => context.gidTable(), {
    reported: "ibv_query_gid_table",
  }),
  "Context.queryPkey": plain("ibv_query_pkey", ({ context }) => context.queryPkey(1, 0)),
  "Context.events": plain("ibv_get_async_event", asyncEvent, REREAD),
  "CompletionChannel.getCqEvent": on(notifying, "ibv_get_cq_event", cqEvent, REREAD),
  "CompletionQueue.poll": plain("ibv_poll_cq", ({ cq }) => cq.poll(), {
    result: (errno) => BigInt(-errno),
  }),
  "CompletionQueueEx.poll": on(
    ({ context }) => new CompletionQueueEx(context, { cqe: 4, channel: null }),
    "ibv_start_poll",
    (cq) => cq.poll(),
    { handled: { ENOENT: "the queue is empty" } },
  ),
  "AddressHandle.create": plain("ibv_create_ah", ({ pd }) => AddressHandle.create(pd, ATTR), {
    elsewhere,
  }),
  "AddressHandle.fromWc": plain(
    "ibv_create_ah_from_wc",
    ({ pd }) => AddressHandle.fromWc(pd, 1, WC),
  ),
  "AddressHandle.createFromWc": plain(
    "ibv_create_ah_from_wc",
    ({ pd }) => AddressHandle.createFromWc(pd, 1, WC),
    { elsewhere },
  ),
  "initAhFromWcAsync()": plain(
    "ibv_init_ah_from_wc",
    ({ context }) => initAhFromWcAsync(context, 1, WC),
    { elsewhere },
  ),
  "resolveEthL2FromGid()": plain(RESOLVE, ({ context }) => resolveEthL2FromGid(context, ATTR)),
  "resolveEthL2FromGidAsync()": plain(
    RESOLVE,
    ({ context }) => resolveEthL2FromGidAsync(context, ATTR),
    { elsewhere },
  ),
  "MemoryRegion with optional access": plain(
    "ibv_reg_mr_iova2",
    ({ pd }) => new MemoryRegion(pd, 64, LOCAL_WRITE | RELAXED_ORDERING),
    REGISTERED,
  ),
  "MemoryRegion.create": plain(
    "ibv_reg_mr_iova2",
    ({ pd }) => MemoryRegion.create(pd, 64, LOCAL_WRITE),
    { ...REGISTERED, elsewhere },
  ),
  "reregMr()": on(
    ({ pd }) => new MemoryRegion(pd, 64, 0),
    "ibv_rereg_mr",
    (mr) => reregMr(mr, { access: LOCAL_WRITE }),
  ),
};

/** Verbs that can fail and that no call of the table makes fail, each with its reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  ibv_get_pkey_index: "-1 says that the table does not have the P_Key",
  ibv_next_poll: "the next poll reports its error, so that the completions before it are not lost",
};

/** Destroys what was made. */
export interface Destruction {
  readonly verb: string;
  readonly prepare: (fixture: Fixture) => () => NativeResource;
}

/** How each kind of object ends. */
export const DESTRUCTIONS: Readonly<Record<string, Destruction>> = Object.fromEntries(
  Object.entries(MAKERS).flatMap(([name, { destroy, prepare }]) =>
    destroy === undefined ? [] : [[name, { verb: destroy, prepare } as Destruction]]
  ),
);

/** Every call that can fail, by what it is. */
export const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  ...Object.fromEntries(
    Object.entries(MAKERS).map(([name, { create, prepare }]) => [name, { verb: create, prepare }]),
  ),
  ...CALLS,
  ...OTHERS,
};
