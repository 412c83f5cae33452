// Every call that can fail on the recorder, with the verb that fails. They add to those of tests/library/provider/.
import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  CompletionQueueEx,
  forkInit,
  Gid,
  initAhFromWc,
  initAhFromWcAsync,
  listDevices,
  MemoryRegion,
  type NativeResource,
  reregMr,
  resolveEthL2FromGid,
  resolveEthL2FromGidAsync,
  type WcAddress,
} from "../../../mod.ts";
import type { Fixture } from "../../provider/fixture.ts";
import * as recorder from "../../provider/recorder.ts";
import { CALLS } from "../provider/calls.ts";
import { MAKERS } from "../provider/makers.ts";

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

/** Waits for an event that is there. */
function eventOf({ context }: Fixture): () => Promise<void> {
  const channel = new CompletionChannel(context);
  new CompletionQueue(context, { cqe: 4, channel });
  return async () => {
    const event = channel.getCqEvent();
    recorder.sendCqEvent("cq0");
    await event;
  };
}

const OTHERS: Readonly<Record<string, Attempt>> = {
  "Context.queryDeviceEx": {
    verb: "ibv_query_device_ex",
    handled: { EOPNOTSUPP: ANOTHER_VERB, ENOSYS: ANOTHER_VERB },
    prepare: ({ context }) => () => context.queryDeviceEx(),
  },
  "listDevices()": {
    verb: "ibv_get_device_list",
    handled: { ENOSYS: "the kernel has no RDMA module, so that the list is empty" },
    prepare: () => listDevices,
  },
  "forkInit()": { verb: "ibv_fork_init", prepare: () => forkInit },
  "Context.queryPort": {
    verb: "ibv_query_port",
    recorded: "___ibv_query_port",
    prepare: ({ context }) => () => context.queryPort(1),
  },
  "Context.queryPort of an old context": {
    verb: "_compat_ibv_query_port",
    recorded: "ibv_query_port",
    reported: "ibv_query_port",
    prepare: ({ context }) => {
      recorder.overwrite("context0", "query_port", 0n);
      return () => context.queryPort(1);
    },
  },
  "Context.queryGid": {
    verb: "ibv_query_gid",
    prepare: ({ context }) => () => context.queryGid(1, 0),
  },
  "Context.queryGidEx": {
    verb: "_ibv_query_gid_ex",
    reported: "ibv_query_gid_ex",
    prepare: ({ context }) => () => context.queryGidEx(1, 0),
  },
  "Context.gidTable": {
    verb: "_ibv_query_gid_table",
    reported: "ibv_query_gid_table",
    prepare: ({ context }) => () => context.gidTable(),
  },
  "Context.queryPkey": {
    verb: "ibv_query_pkey",
    prepare: ({ context }) => () => context.queryPkey(1, 0),
  },
  "Context.events": {
    verb: "ibv_get_async_event",
    handled: { EAGAIN: READ_AGAIN, EINTR: READ_AGAIN },
    prepare: ({ context }) => async () => {
      const events = context.events();
      const next = events.next();
      recorder.sendAsyncEvent(9, 1);
      try {
        await next;
      } finally {
        await events.return();
      }
    },
  },
  "CompletionChannel.getCqEvent": {
    verb: "ibv_get_cq_event",
    handled: { EAGAIN: READ_AGAIN, EINTR: READ_AGAIN },
    prepare: eventOf,
  },
  "CompletionQueue.poll": {
    verb: "ibv_poll_cq",
    result: (errno) => BigInt(-errno),
    prepare: ({ cq }) => () => cq.poll(),
  },
  "CompletionQueueEx.poll": {
    verb: "ibv_start_poll",
    handled: { ENOENT: "the queue is empty" },
    prepare: ({ context }) => {
      const cq = new CompletionQueueEx(context, { cqe: 4, channel: null });
      return () => cq.poll();
    },
  },
  "AddressHandle.create": {
    elsewhere: true,
    verb: "ibv_create_ah",
    prepare: ({ pd }) => () => AddressHandle.create(pd, ATTR),
  },
  "AddressHandle.fromWc": {
    verb: "ibv_create_ah_from_wc",
    prepare: ({ pd }) => () => AddressHandle.fromWc(pd, 1, WC),
  },
  "AddressHandle.createFromWc": {
    elsewhere: true,
    verb: "ibv_create_ah_from_wc",
    prepare: ({ pd }) => () => AddressHandle.createFromWc(pd, 1, WC),
  },
  "initAhFromWc()": {
    verb: "ibv_init_ah_from_wc",
    prepare: ({ context }) => () => initAhFromWc(context, 1, WC),
  },
  "initAhFromWcAsync()": {
    elsewhere: true,
    verb: "ibv_init_ah_from_wc",
    prepare: ({ context }) => () => initAhFromWcAsync(context, 1, WC),
  },
  "resolveEthL2FromGid()": {
    verb: "ibv_resolve_eth_l2_from_gid",
    prepare: ({ context }) => () => resolveEthL2FromGid(context, ATTR),
  },
  "resolveEthL2FromGidAsync()": {
    elsewhere: true,
    verb: "ibv_resolve_eth_l2_from_gid",
    prepare: ({ context }) => () => resolveEthL2FromGidAsync(context, ATTR),
  },
  "MemoryRegion with optional access": {
    verb: "ibv_reg_mr_iova2",
    reported: "ibv_reg_mr",
    prepare: ({ pd }) => () => new MemoryRegion(pd, 64, LOCAL_WRITE | RELAXED_ORDERING),
  },
  "MemoryRegion.create": {
    elsewhere: true,
    verb: "ibv_reg_mr_iova2",
    reported: "ibv_reg_mr",
    prepare: ({ pd }) => () => MemoryRegion.create(pd, 64, LOCAL_WRITE),
  },
  "reregMr()": {
    verb: "ibv_rereg_mr",
    prepare: ({ pd }) => {
      const mr = new MemoryRegion(pd, 64, 0);
      return () => reregMr(mr, { access: LOCAL_WRITE });
    },
  },
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
  ...Object.fromEntries(
    Object.entries(CALLS).map(([name, { verb, prepare }]) => [name, { verb, prepare }]),
  ),
  ...OTHERS,
};
