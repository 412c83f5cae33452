// No loop over calls of the library keeps timers and signals from running, whether the calls end at once, wait or fail.

import { assertEquals } from "@std/assert";
import { CmEventType, CmId, type EventChannel, getAddrInfo } from "../../../cm.ts";
import { waitReadable } from "../../../ffi/fd_watcher.ts";
import {
  AccessFlags,
  AddressHandle,
  CompletionChannel,
  CompletionQueue,
  EventType,
  Gid,
  initAhFromWcAsync,
  MemoryRegion,
  QpState,
  QpType,
  ReplyPath,
  resolveEthL2FromGidAsync,
} from "../../../mod.ts";
import {
  connectRc,
  listenRc,
  listenSrd,
  listenUd,
  type RcConn,
  type UdConn,
} from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { FakeBed } from "../cm/fake.ts";
import { awaitables, type Call, failing, hammer } from "./hammer.ts";
import { until } from "../../until.ts";

const QKEY = 7;
const GID = "::ffff:10.0.0.2";
const WC = { wcFlags: 0, slid: 9, sl: 0, dlidPathBits: 0 };
const LOST = { ...WC, slid: -1 };
const message = Uint8Array.of(1, 2, 3);
const { LOCAL_WRITE } = AccessFlags;

/** What a row has. What it makes is closed in reverse order. */
interface Setting {
  readonly bed: FakeBed;
  readonly closing: AsyncDisposableStack;
}

/** Calls that end at once, calls that wait, and calls that fail at once, where there are such. */
interface Row {
  readonly hasSignal: boolean;
  readonly calls: Readonly<Record<string, (setting: Setting) => Call | Promise<Call>>>;
}

function row(calls: Row["calls"], hasSignal = true): Row {
  return { hasSignal, calls };
}

function without(calls: Row["calls"]): Row {
  return row(calls, false);
}

const attr = { portNum: 1, grh: { dgid: Gid.parse(GID), sgidIndex: 1, hopLimit: 64 } };
const opened = (init: object = {}) => ({ device: "recorder0", qkey: QKEY, ...init });

async function ud({ closing }: Setting, init: object = {}): Promise<UdConn> {
  return closing.use(await listenUd(opened(init)));
}

/** A connection that sends to itself. */
async function loop(setting: Setting): Promise<[conn: UdConn, addr: UdConn["addr"]]> {
  const conn = await ud(setting);
  return [conn, conn.addr];
}

async function rc({ closing }: Setting): Promise<[client: RcConn, server: RcConn]> {
  await using listener = await listenRc({ device: "recorder0" });
  const connecting = connectRc({ device: "recorder0", tcpPort: listener.addr.port });
  const [client, server] = await Promise.all([connecting, listener.accept()]);
  return [closing.use(client), closing.use(server)];
}

async function closedRc(setting: Setting): Promise<RcConn> {
  const [client] = await rc(setting);
  await client.close();
  return client;
}

async function closedUd(setting: Setting): Promise<UdConn> {
  const conn = await ud(setting);
  conn.close();
  return conn;
}

/** Makes something and ends it again. */
async function once(made: Promise<Disposable | AsyncDisposable>): Promise<void> {
  await using closing = new AsyncDisposableStack();
  closing.use(await made);
}

function queue({ bed, closing }: Setting): CompletionQueue {
  const channel = closing.use(new CompletionChannel(bed.context));
  return closing.use(new CompletionQueue(bed.context, { cqe: 64, channel }));
}

/** A queue that always has a completion. */
function fullQueue(setting: Setting): () => CompletionQueue {
  const cq = queue(setting);
  return () => {
    recorder.complete("cq0");
    return cq;
  };
}

function path({ bed, closing }: Setting): ReplyPath {
  return closing.use(new ReplyPath(bed.pd, { portNum: 1, maxPeers: 2 }));
}

function portEvent(): void {
  recorder.sendAsyncEvent(EventType.SM_CHANGE, 1);
}

async function first(iterable: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of iterable) return;
}

/** An id in a state, which has ended when the test has. */
async function idIn({ bed, closing }: Setting, state: string): Promise<CmId> {
  const id = await bed.net.idIn(state);
  closing.defer(() => id.close());
  return id;
}

/** A request that fails each time before anything is sent, in a state that does not allow it. */
function refused(use: (id: CmId, signal: AbortSignal) => Promise<unknown>): Row["calls"][string] {
  return async (setting) => {
    const id = await idIn(setting, "LISTENING");
    return failing((signal) => use(id, signal));
  };
}

function request({ net }: FakeBed, listener: CmId): EventChannel {
  net.push(listener, CmEventType.CONNECT_REQUEST);
  return net.channel;
}

/** The requests of a listener as they come, which are closed. */
async function requests(
  setting: Setting,
  use: (channel: EventChannel, signal: AbortSignal) => AsyncIterable<{ id: CmId }>,
): Promise<Call> {
  const listener = await idIn(setting, "LISTENING");
  return async (signal) => {
    for await (const { id } of use(request(setting.bed, listener), signal)) return id.close();
  };
}

const resolving: Row["calls"][string] = ({ bed }) => async (signal) => {
  using id = new CmId(bed.net.channel);
  await id.resolveAddr({ hostname: "10.0.0.2", port: 7471 }, { signal, timeout: 100 });
};

const ROWS: Readonly<Record<string, Row>> = {
  "AddressHandle.createAsync": row({
    waits: ({ bed }) => (signal) => once(AddressHandle.createAsync(bed.pd, attr, { signal })),
    fails: ({ bed }) =>
      failing((signal) => AddressHandle.createAsync(bed.pd, {} as never, { signal })),
  }),
  "AddressHandle.fromWcAsync": row({
    waits: ({ bed }) => (signal) =>
      once(AddressHandle.fromWcAsync(bed.pd, 1, WC, undefined, { signal })),
    fails: ({ bed }) =>
      failing((signal) => AddressHandle.fromWcAsync(bed.pd, 1, LOST, undefined, { signal })),
  }),
  initAhFromWcAsync: row({
    waits: ({ bed }) => (signal) => initAhFromWcAsync(bed.context, 1, WC, undefined, { signal }),
    fails: ({ bed }) =>
      failing((signal) => initAhFromWcAsync(bed.context, 1, LOST, undefined, { signal })),
  }),
  resolveEthL2FromGidAsync: row({
    waits: ({ bed }) => (signal) => resolveEthL2FromGidAsync(bed.context, attr, { signal }),
    fails: ({ bed }) =>
      failing((signal) => resolveEthL2FromGidAsync(bed.context, {} as never, { signal })),
  }),
  "CompletionChannel.getCqEvent": row({
    "ends at once": (setting) => {
      const { channel } = queue(setting);
      return (signal) => {
        recorder.sendCqEvent("cq0");
        return channel!.getCqEvent({ signal });
      };
    },
    waits: (setting) => {
      const { channel } = queue(setting);
      return (signal) => channel!.getCqEvent({ signal });
    },
  }),
  "CompletionQueue.completions": row({
    "ends at once": (setting) => {
      const next = fullQueue(setting);
      return (signal) => first(next().completions({ signal, spinMicroseconds: 10 }));
    },
    waits: (setting) => {
      const cq = queue(setting);
      return (signal) => first(cq.completions({ signal, spinMicroseconds: 1000 }));
    },
  }),
  "Completions.next": without({
    "ends at once": (setting) => {
      const next = fullQueue(setting);
      const completions = next().completions();
      return () => {
        next();
        return completions.next();
      };
    },
  }),
  "Completions.return": without({
    "ends at once": (setting) => () => queueOnce(setting).completions().return(),
  }),
  "Completions.throw": without({
    fails: (setting) => failing(() => queueOnce(setting).completions().throw(new Error("thrown"))),
  }),
  "Completions.[Symbol.asyncDispose]": without({
    "ends at once": (setting) => () => queueOnce(setting).completions()[Symbol.asyncDispose](),
  }),
  "Context.events": row({
    "ends at once": ({ bed }) => (signal) => {
      const events = bed.context.events({ signal });
      const next = events.next();
      portEvent();
      return next.then(() => events.return());
    },
    waits: ({ bed }) => (signal) => first(bed.context.events({ signal })),
  }),
  "MemoryRegion.createAsync": row({
    waits: ({ bed }) => (signal) =>
      once(MemoryRegion.createAsync(bed.pd, 64, LOCAL_WRITE, { signal })),
    fails: ({ bed }) => failing((signal) => MemoryRegion.createAsync(bed.pd, 0, 0, { signal })),
  }),
  "QueuePairStates.modifyAsync": row({
    "ends at once": ({ bed }) => {
      const qp = bed.qp(QpType.UD);
      return (signal) => qp.modifyAsync({ qpState: QpState.RESET }, { signal });
    },
    waits: ({ bed }) => {
      const qp = bed.qp(QpType.RC);
      return (signal) => qp.modifyAsync({ minRnrTimer: 1 }, { signal });
    },
    fails: ({ bed }) => {
      const qp = bed.qp(QpType.UD);
      return failing((signal) => qp.modifyAsync({}, { signal }));
    },
  }),
  "QueuePairStates.activateRcAsync": row({
    fails: ({ bed }) => {
      const qp = bed.qp(QpType.UD);
      return failing((signal) => qp.activateRcAsync({} as never, {}, { signal }));
    },
  }),
  "QueuePairStates.activateUcAsync": row({
    fails: ({ bed }) => {
      const qp = bed.qp(QpType.UD);
      return failing((signal) => qp.activateUcAsync({} as never, {}, { signal }));
    },
  }),
  "ReplyPath.toAsync": row({
    "ends at once": (setting) => {
      const known = path(setting);
      return (signal) => known.toAsync(WC, undefined, { signal });
    },
    waits: (setting) => {
      const many = path(setting);
      let slid = 1;
      return (signal) =>
        many.toAsync({ ...WC, slid: slid = slid % 1000 + 1 }, undefined, { signal });
    },
    fails: (setting) => {
      const known = path(setting);
      return failing((signal) => known.toAsync(LOST, undefined, { signal }));
    },
  }),
  "ReplyPath.toAddressAsync": row({
    "ends at once": (setting) => {
      const known = path(setting);
      return (signal) => known.toAddressAsync(attr, { signal });
    },
    fails: (setting) => {
      const known = path(setting);
      return failing((signal) => known.toAddressAsync({} as never, { signal }));
    },
  }),
  getAddrInfo: row({
    waits: () => (signal) => getAddrInfo("10.0.0.2", "7471", { signal }),
    fails: () => failing((signal) => getAddrInfo("\0", "7471", { signal })),
  }),
  "CmId.resolveAddr": row({
    waits: resolving,
    fails: refused((id, signal) => id.resolveAddr({ hostname: GID, port: 1 }, { signal })),
  }),
  "CmId.resolveRoute": row({ fails: refused((id, signal) => id.resolveRoute({ signal })) }),
  "CmId.resolveAddrInfo": row({
    fails: refused((id, signal) => id.resolveAddrInfo("10.0.0.2", "7471", { signal })),
  }),
  "CmId.connect": row({
    fails: refused((id, signal) => id.connect(undefined as never, {}, { signal })),
  }),
  "CmId.accept": row({
    fails: refused((id, signal) => id.accept(undefined as never, {}, { signal })),
  }),
  "CmId.establishAsync": row({
    "ends at once": async (setting) => {
      const id = await idIn(setting, "ESTABLISHED");
      return (signal) => id.establishAsync({ signal });
    },
    fails: refused((id, signal) => id.establishAsync({ signal })),
  }),
  "CmId.disconnect": row({
    "ends at once": async (setting) => {
      const id = await idIn(setting, "DISCONNECTED");
      return (signal) => id.disconnect({ signal });
    },
    fails: refused((id, signal) => id.disconnect({ signal })),
  }),
  "CmId.disconnected": row({
    "ends at once": async (setting) => {
      const id = await idIn(setting, "DISCONNECTED");
      return (signal) => id.disconnected({ signal });
    },
    waits: async (setting) => {
      const id = await idIn(setting, "ESTABLISHED");
      return (signal) => id.disconnected({ signal });
    },
    fails: refused((id, signal) => id.disconnected({ signal })),
  }),
  "CmId.joinMulticast": row({
    fails: refused((id, signal) =>
      id.joinMulticast({ hostname: "239.1.2.3", port: 0 }, { signal })
    ),
  }),
  "EventChannel.events": row({
    "ends at once": (setting) => requests(setting, (channel, signal) => channel.events({ signal })),
    waits: ({ bed }) => (signal) => first(bed.net.channel.events({ signal })),
  }),
  "EventChannel.[Symbol.asyncIterator]": without({
    "ends at once": (setting) => requests(setting, (channel) => channel),
  }),
  connectRc: row({
    fails: () => failing((signal) => connectRc({ signal } as never)),
    waits: ({ closing }) => {
      const exchange = (): Promise<never> => new Promise(() => {});
      closing.defer(() => {});
      return (signal) => connectRc({ device: "recorder0", exchange, signal });
    },
  }),
  listenRc: row({
    "ends at once": () => (signal) => once(listenRc({ signal })),
    fails: () => failing((signal) => listenRc({ tcpPort: 1, port: 1, signal })),
  }),
  "RcListener.accept": row({
    waits: async ({ closing }) => {
      const listener = closing.use(await listenRc());
      return (signal) => listener.accept({ signal });
    },
    fails: async () => {
      const listener = await listenRc();
      listener.close();
      return failing((signal) => listener.accept({ signal }));
    },
  }),
  "RcListener.[Symbol.asyncIterator]": without({
    "ends at once": async () => {
      const listener = await listenRc();
      listener.close();
      return () => first(listener);
    },
  }),
  "RcListener.[Symbol.asyncDispose]": without({
    "ends at once": async () => {
      const listener = await listenRc();
      return () => listener[Symbol.asyncDispose]();
    },
  }),
  "RcConn.receive": row({
    "ends at once": async (setting) => {
      const [client, server] = await rc(setting);
      return async (signal) => {
        await client.send(message, { signal });
        await server.receive(undefined, { signal });
      };
    },
    waits: async (setting) => {
      const [client] = await rc(setting);
      return (signal) => client.receive(undefined, { signal });
    },
    fails: async (setting) => {
      const conn = await closedRc(setting);
      return failing((signal) => conn.receive(undefined, { signal }));
    },
  }),
  "RcConn.send": row({
    waits: async (setting) => {
      const [client] = await rc(setting);
      return (signal) => client.send(message, { signal });
    },
    fails: async (setting) => {
      const [client] = await rc(setting);
      return failing((signal) => client.send(new Uint8Array(1e6), { signal }));
    },
  }),
  "RcConn.flush": row({
    "ends at once": async (setting) => {
      const [client] = await rc(setting);
      return (signal) => client.flush({ signal });
    },
    fails: async (setting) => {
      const conn = await closedRc(setting);
      return failing((signal) => conn.flush({ signal }));
    },
  }),
  "RcConn.expose": row({
    waits: async (setting) => {
      const [client] = await rc(setting);
      return (signal) => once(client.expose(8, { signal }));
    },
    fails: async (setting) => {
      const conn = await closedRc(setting);
      return failing((signal) => conn.expose(8, { signal }));
    },
  }),
  "RcConn.write": remote((conn, memory, signal) => conn.write(memory, 0, message, { signal })),
  "RcConn.writes": without({
    "ends at once": async (setting) => {
      const [client, server] = await rc(setting);
      const { remote } = await server.expose(64);
      const writes = server.writes();
      return async () => {
        await client.write(remote, 0, message, { imm: 7 });
        await writes.next();
      };
    },
  }),
  "RcConn.read": remote((conn, memory, signal) => conn.read(memory, 0, 8, { signal })),
  "RcConn.fetchAdd": remote((conn, memory, signal) => conn.fetchAdd(memory, 0, 1n, { signal })),
  "RcConn.compareSwap": remote((conn, memory, signal) =>
    conn.compareSwap(memory, 0, 0n, 1n, { signal })
  ),
  "RcConn.[Symbol.asyncIterator]": without({
    "ends at once": async (setting) => {
      const [client, server] = await rc(setting);
      return async () => {
        await client.send(message);
        await first(server);
      };
    },
  }),
  "RcConn.close": without({
    "ends at once": async (setting) => {
      const conn = await closedRc(setting);
      return () => conn.close();
    },
  }),
  "RcConn.[Symbol.asyncDispose]": without({
    "ends at once": async (setting) => {
      const conn = await closedRc(setting);
      return () => conn[Symbol.asyncDispose]();
    },
  }),
  listenUd: row({
    "ends at once": () => (signal) => once(listenUd(opened({ signal }))),
    fails: () => failing((signal) => listenUd({ signal } as never)),
  }),
  listenSrd: row({ fails: () => failing((signal) => listenSrd(opened({ signal }))) }),
  "UdConn.receive": row({
    "ends at once": async (setting) => {
      const [conn, addr] = await loop(setting);
      return async (signal) => {
        await conn.send(message, addr);
        await conn.receive(undefined, { signal });
      };
    },
    waits: async (setting) => {
      const conn = await ud(setting, { spinMicroseconds: 1000 });
      return (signal) => conn.receive(undefined, { signal });
    },
    fails: async (setting) => {
      const conn = await closedUd(setting);
      return failing((signal) => conn.receive(undefined, { signal }));
    },
  }),
  "UdConn.receiveMany": row({
    "ends at once": async (setting) => {
      const [conn, addr] = await loop(setting);
      const room = new Uint8Array(100);
      return async (signal) => {
        await conn.send(message, addr);
        await conn.receiveMany(room, { signal });
      };
    },
  }),
  "UdConn.send": row({
    "ends at once": async (setting) => {
      const [conn, addr] = await loop(setting);
      return (signal) => conn.send(message, addr, { signal });
    },
    waits: async (setting) => {
      const conn = await ud(setting, { maxPeers: 2 });
      let peer = 0;
      return (signal) => {
        const gid = `::ffff:10.0.0.${peer = peer % 200 + 1}`;
        return conn.send(message, { ...conn.addr, gid }, { signal });
      };
    },
    fails: async (setting) => {
      const conn = await closedUd(setting);
      return failing((signal) => conn.send(message, conn.addr, { signal }));
    },
  }),
  "UdConn.sendMany": row({
    "ends at once": async (setting) => {
      const [conn, addr] = await loop(setting);
      return (signal) => conn.sendMany([[message, addr], [message, addr]], { signal });
    },
    "has much to send": async (setting) => {
      const [conn, addr] = await loop(setting);
      const many = Array.from({ length: 5000 }, () => [message, addr] as const);
      return (signal) => conn.sendMany(many, { signal });
    },
    fails: async (setting) => {
      const conn = await closedUd(setting);
      return failing((signal) => conn.sendMany([], { signal }));
    },
  }),
  "UdConn.join": row({
    fails: async (setting) => {
      const conn = await ud(setting);
      return failing((signal) => conn.join("10.0.0.2", { signal }));
    },
  }),
  "UdConn.[Symbol.asyncIterator]": without({
    "ends at once": async (setting) => {
      const [conn, addr] = await loop(setting);
      return async () => {
        await conn.send(message, addr);
        await first(conn);
      };
    },
  }),
  "UdConn.[Symbol.asyncDispose]": without({
    "ends at once": async (setting) => {
      const conn = await closedUd(setting);
      return () => conn[Symbol.asyncDispose]();
    },
  }),
};

const queues = new WeakMap<Setting, CompletionQueue>();

function queueOnce(setting: Setting): CompletionQueue {
  const known = queues.get(setting) ?? queue(setting);
  queues.set(setting, known);
  return known;
}

function remote(
  use: (
    conn: RcConn,
    memory: Parameters<RcConn["write"]>[0],
    signal: AbortSignal,
  ) => Promise<unknown>,
): Row {
  return row({
    waits: async (setting) => {
      const [client, server] = await rc(setting);
      const { remote } = await server.expose(8);
      return (signal) => use(client, remote, signal);
    },
    fails: async (setting) => {
      const [client] = await rc(setting);
      return failing((signal) => use(client, {} as never, signal));
    },
  });
}

/** Waits for native calls whose wait has ended early. The context of the network stays. */
async function callsEnd({ context, net }: FakeBed): Promise<void> {
  net.channel.close();
  context.close();
  await until("the end of the calls", () => recorder.live() <= 1);
}

for (const [name, { calls, hasSignal }] of Object.entries(ROWS)) {
  for (const [how, make] of Object.entries(calls)) {
    Deno.test(`A loop over ${name}() that ${how} lets a timer fire, and its signal end it`, async () => {
      {
        using bed = new FakeBed();
        // The rows of ./cm say themselves which events come.
        if (!/^(CmId|EventChannel)/.test(name)) bed.connect("IPv4");
        await using closing = new AsyncDisposableStack();
        closing.defer(() => callsEnd(bed));
        const call = await make({ bed, closing });
        await hammer(call, hasSignal && how !== "fails");
      }
      // Ends when the watcher's poll has returned.
      await waitReadable(0).cancel();
    });
  }
}

Deno.test("Every public method that can be awaited is in the table above", async () => {
  const sources = ["mod.ts", "cm.ts", "efa.ts", "rss.ts", "testing.ts", "net/mod.ts"];
  assertEquals(Object.keys(ROWS).sort(), await awaitables(sources));
});
