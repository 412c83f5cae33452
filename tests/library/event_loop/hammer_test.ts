// No loop over calls of the library that end at once keeps timers from running. Calls that fail are in refusals_test.ts.

import { assertGreater } from "@std/assert";
import { CmEventType, type CmId, type EventChannel } from "../../../cm.ts";
import { waitReadable } from "../../../ffi/fd_watcher.ts";
import {
  CompletionChannel,
  CompletionQueue,
  EventType,
  Gid,
  QpState,
  QpType,
  ReplyPath,
} from "../../../mod.ts";
import { connectRc, listenRc, listenUd, type RcConn, type UdConn } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { FakeBed } from "../cm/fake.ts";
import { until } from "../../until.ts";

const GID = "::ffff:10.0.0.2";
const WC = { wcFlags: 0, slid: 9, sl: 0, dlidPathBits: 0 };
const message = Uint8Array.of(1, 2, 3);
const attr = { portNum: 1, grh: { dgid: Gid.parse(GID), sgidIndex: 1, hopLimit: 64 } };

/** What a row has. What it makes is closed in reverse order. */
interface Setting {
  readonly bed: FakeBed;
  readonly closing: AsyncDisposableStack;
}

/** A call of one public method or function, which ends at once. */
type Call = (signal: AbortSignal) => Promise<unknown>;

/** The processor time of this thread in milliseconds. */
function processorMs(): number {
  return Number(Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ")[0]) / 1e6;
}

/** Calls until a timer of 50 ms fires, which takes less than 100 ms of processor time. */
async function hammer(call: Call): Promise<void> {
  const abort = new AbortController();
  const begin = performance.now();
  const start = processorMs();
  let end = 0;
  setTimeout(() => {
    end = processorMs();
    abort.abort();
  }, 50);
  while (!abort.signal.aborted) {
    await call(abort.signal).catch((error) => {
      if (error !== abort.signal.reason) throw error;
    });
    // Far more than the limit: the loop ends, and the test tells it.
    if (performance.now() - begin > 10_000) throw new Error("No timer has fired for 10 s");
  }
  assertGreater(100, end - start, "ms of processor time until a timer of 50 ms fires");
}

async function ud({ closing }: Setting, init: object = {}): Promise<UdConn> {
  return closing.use(await listenUd({ device: "recorder0", qkey: 7, ...init }));
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

/** Makes something and ends it again. */
async function once(made: Promise<Disposable | AsyncDisposable>): Promise<void> {
  await using closing = new AsyncDisposableStack();
  closing.use(await made);
}

function queue({ bed, closing }: Setting): CompletionQueue {
  const channel = closing.use(new CompletionChannel(bed.context));
  return closing.use(new CompletionQueue(bed.context, { cqe: 64, channel }));
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

/** The requests of a listener as they come, which are closed. */
async function requests(
  setting: Setting,
  use: (channel: EventChannel, signal: AbortSignal) => AsyncIterable<{ id: CmId }>,
): Promise<Call> {
  const listener = await idIn(setting, "LISTENING");
  const { net } = setting.bed;
  return async (signal) => {
    net.push(listener, CmEventType.CONNECT_REQUEST);
    for await (const { id } of use(net.channel, signal)) return id.close();
  };
}

const ROWS: Readonly<Record<string, (setting: Setting) => Call | Promise<Call>>> = {
  "CompletionChannel.getCqEvent": (setting) => {
    const { channel } = queue(setting);
    return (signal) => {
      recorder.sendCqEvent("cq0");
      return channel!.getCqEvent({ signal });
    };
  },
  "CompletionQueue.completions": (setting) => {
    const cq = queue(setting);
    return (signal) => {
      recorder.complete("cq0");
      return first(cq.completions({ signal, spinMicroseconds: 10 }));
    };
  },
  "CompletionQueue.completions that polls before it waits": (setting) => {
    const cq = queue(setting);
    return (signal) => first(cq.completions({ signal, spinMicroseconds: 1000 }));
  },
  "Completions.next": (setting) => {
    const completions = queue(setting).completions();
    return () => {
      recorder.complete("cq0");
      return completions.next();
    };
  },
  "Completions.return": (setting) => {
    const cq = queue(setting);
    return () => cq.completions().return();
  },
  "Context.events": ({ bed }) => (signal) => {
    const events = bed.context.events({ signal });
    const next = events.next();
    recorder.sendAsyncEvent(EventType.SM_CHANGE, 1);
    return next.then(() => events.return());
  },
  "QueuePair.modifyAsync": ({ bed }) => {
    const qp = bed.qp(QpType.UD);
    return (signal) => qp.modifyAsync({ qpState: QpState.RESET }, { signal });
  },
  "ReplyPath.toAsync": ({ bed, closing }) => {
    const path = closing.use(new ReplyPath(bed.pd, { portNum: 1, maxPeers: 2 }));
    return (signal) => path.toAsync(WC, undefined, { signal });
  },
  "ReplyPath.toAddressAsync": ({ bed, closing }) => {
    const path = closing.use(new ReplyPath(bed.pd, { portNum: 1, maxPeers: 2 }));
    return (signal) => path.toAddressAsync(attr, { signal });
  },
  "CmId.establishAsync": async (setting) => {
    const id = await idIn(setting, "ESTABLISHED");
    return (signal) => id.establishAsync({ signal });
  },
  "CmId.disconnect": async (setting) => {
    const id = await idIn(setting, "DISCONNECTED");
    return (signal) => id.disconnect({ signal });
  },
  "CmId.disconnected": async (setting) => {
    const id = await idIn(setting, "DISCONNECTED");
    return (signal) => id.disconnected({ signal });
  },
  "EventChannel.events": (setting) =>
    requests(setting, (channel, signal) => channel.events({ signal })),
  listenRc: () => (signal) => once(listenRc({ signal })),
  "RcListener.[Symbol.asyncIterator]": async () => {
    const listener = await listenRc();
    listener.close();
    return () => first(listener);
  },
  "RcConn.receive": async (setting) => {
    const [client, server] = await rc(setting);
    return async (signal) => {
      await client.send(message, { signal });
      await server.receive(undefined, { signal });
    };
  },
  "RcConn.flush": async (setting) => {
    const [client] = await rc(setting);
    return (signal) => client.flush({ signal });
  },
  "RcConn.writes": async (setting) => {
    const [client, server] = await rc(setting);
    const { remote } = await server.expose(64);
    const writes = server.writes();
    return async () => {
      await client.write(remote, 0, message, { imm: 7 });
      await writes.next();
    };
  },
  "RcConn.close": async (setting) => {
    const [conn] = await rc(setting);
    return () => conn.close();
  },
  listenUd: () => (signal) => once(listenUd({ device: "recorder0", qkey: 7, signal })),
  "UdConn.receive": async (setting) => {
    const [conn, addr] = await loop(setting);
    return async (signal) => {
      await conn.send(message, addr);
      await conn.receive(undefined, { signal });
    };
  },
  "UdConn.receive that polls before it waits": async (setting) => {
    const conn = await ud(setting, { spinMicroseconds: 1000 });
    return (signal) => conn.receive(undefined, { signal });
  },
  "UdConn.receiveMany": async (setting) => {
    const [conn, addr] = await loop(setting);
    const room = new Uint8Array(100);
    return async (signal) => {
      await conn.send(message, addr);
      await conn.receiveMany(room, { signal });
    };
  },
  "UdConn.send": async (setting) => {
    const [conn, addr] = await loop(setting);
    return (signal) => conn.send(message, addr, { signal });
  },
  "UdConn.sendMany": async (setting) => {
    const [conn, addr] = await loop(setting);
    const many = Array.from({ length: 5000 }, () => [message, addr] as const);
    return (signal) => conn.sendMany(many, { signal });
  },
  "UdConn.[Symbol.asyncIterator]": async (setting) => {
    const [conn, addr] = await loop(setting);
    return async () => {
      await conn.send(message, addr);
      await first(conn);
    };
  },
};

/** Waits for native calls whose wait has ended early. The context of the network stays. */
async function callsEnd({ context, net }: FakeBed): Promise<void> {
  net.channel.close();
  context.close();
  await until("the end of the calls", () => recorder.live() <= 1);
}

for (const [name, make] of Object.entries(ROWS)) {
  Deno.test(`A loop over ${name} lets a timer fire`, async () => {
    {
      using bed = new FakeBed();
      // The rows of ./cm say themselves which events come.
      if (!/^(CmId|EventChannel)/.test(name)) bed.connect("IPv4");
      await using closing = new AsyncDisposableStack();
      closing.defer(() => callsEnd(bed));
      await hammer(await make({ bed, closing }));
    }
    // Ends when the watcher's poll has returned.
    await waitReadable(0).cancel();
  });
}
