// Every promise of ./cm settles when what it belongs to ends: its id, its group or its channel.
import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import { CmError, CmEventType, CmId, EventChannel, PortSpace } from "../../../cm.ts";
import { type QpModifyAttr, QpState, QpType, QueuePair } from "../../../mod.ts";
import { Waiters } from "../../../wait/waiters.ts";
import { type FakeBed, test } from "./fake.ts";

const TYPE = CmEventType;
const TO = { hostname: "10.0.0.2", port: 7471 };
const GROUP = "239.1.2.3";

/** The methods that wait for an event, and the state that they need. */
const WAITS: Readonly<
  Record<string, readonly [string, (id: CmId, bed: FakeBed) => Promise<unknown>, PortSpace?]>
> = {
  resolveAddr: ["IDLE", (id) => id.resolveAddr(TO)],
  resolveAddrInfo: ["IDLE", (id) => id.resolveAddrInfo("host", "7471")],
  resolveRoute: ["ADDR_RESOLVED", (id) => id.resolveRoute()],
  connect: ["ROUTE_RESOLVED", (id, { net }) => id.connect(net.newQp())],
  accept: ["REQUESTED", (id, { net }) => id.accept(net.newQp())],
  establish: ["RESPONDED", (id) => id.establish()],
  disconnect: ["ESTABLISHED", (id) => id.disconnect()],
  disconnected: ["ESTABLISHED", (id) => id.disconnected()],
  joinMulticast: ["BOUND", (id) => id.joinMulticast(GROUP), PortSpace.UDP],
};

/** What ends an id or its channel. */
const ENDS: Readonly<Record<string, (id: CmId, bed: FakeBed) => unknown>> = {
  "the id is closed": (id) => id.close(),
  "its channel is closed": (_, { net }) => net.channel.close(),
  "its device goes away": (id, { net }) => net.push(id, TYPE.DEVICE_REMOVAL),
};

Deno.test("WAITS has every method of CmId that gives a promise", () => {
  const names = Object.getOwnPropertyNames(CmId.prototype).filter((name) => {
    const { value } = Object.getOwnPropertyDescriptor(CmId.prototype, name)!;
    return typeof value === "function" && value.constructor.name === "AsyncFunction";
  });
  assertEquals(Object.keys(WAITS).sort(), names.sort());
});

for (const [name, [state, wait, portSpace]] of Object.entries(WAITS)) {
  for (const [how, end] of Object.entries(ENDS)) {
    // It waits for no event: what it then calls fails.
    if (name === "establish" && how === "its device goes away") continue;
    test(`CmId.${name}() ends when ${how}`, async (bed) => {
      bed.net.answerGroups(undefined);
      const id = await bed.net.idIn(state, portSpace);
      const ended = assertRejects(() => wait(id, bed));
      end(id, bed);
      await ended;
    });
  }
}

/** Events after which no other one comes. */
const LAST = { REJECTED: TYPE.REJECTED, CONNECT_ERROR: TYPE.CONNECT_ERROR };

for (const name of ["connect", "accept", "disconnect", "disconnected"]) {
  for (const [last, type] of Object.entries({ ...LAST, DISCONNECTED: TYPE.DISCONNECTED })) {
    test(`CmId.${name}() ends when ${last} comes`, async (bed) => {
      const [state, wait] = WAITS[name]!;
      const id = await bed.net.idIn(state);
      const waited = wait(id, bed).catch((error) => error);
      bed.net.push(id, type);
      const isOk = type === TYPE.DISCONNECTED && name.startsWith("disconnect");
      assertEquals((await waited) instanceof CmError, !isOk);
    });
  }
}

for (
  const [name, begin] of Object.entries<(bed: FakeBed, other: CmId) => Promise<unknown>>({
    "another id waits": (_bed, other) => other.resolveAddr(TO),
    "somebody waits for any event": ({ net }) => net.channel.events().next(),
  })
) {
  test(`CmId.accept() gets its event although ${name} as the event comes`, async (bed) => {
    const [id, other] = [await bed.net.idIn("REQUESTED"), await bed.net.idIn("IDLE")];
    const accepted = id.accept(bed.net.newQp().qpNum);
    bed.net.push(id, TYPE.ESTABLISHED);
    const waiting = begin(bed, other).catch(() => {});
    await accepted;
    bed.net.channel.close();
    await waiting;
  });
}

test("Rejecting an answer ends the wait for the end of its connection", async (bed) => {
  const id = await bed.net.idIn("RESPONDED");
  const ended = assertRejects(() => id.disconnected(), TypeError, "rejected");
  id.reject();
  await ended;
});

test("CmId.disconnected() refuses an id for datagrams, whose connection has no end", async (bed) => {
  const id = await bed.net.idIn("CONNECTING", PortSpace.UDP);
  await assertRejects(() => id.disconnected(), TypeError, "the id is for datagrams");
});

test("CmId.leaveMulticast() ends the wait of who joins that group, and of no other", async (bed) => {
  bed.net.answerGroups(undefined);
  const id = await bed.net.idIn("BOUND", PortSpace.UDP);
  const other = "239.1.2.4";
  const left = assertRejects(() => id.joinMulticast(GROUP), TypeError, "was left");
  let joined = false;
  const joining = id.joinMulticast(other).then(() => joined = true, () => {});
  id.leaveMulticast(GROUP);
  await left;
  assertEquals(joined, false);
  id.close();
  await joining;
  assertEquals(joined, false);
});

test("CmId.close() leaves the groups that the program has not left, and librdmacm keeps nothing", async (bed) => {
  const id = await bed.net.idIn("BOUND", PortSpace.UDP);
  await id.joinMulticast(GROUP);
  await id.joinMulticast(GROUP, { sendOnly: true });
  await id.joinMulticast("239.1.2.4");
  id.leaveMulticast(GROUP);
  bed.net.answerGroups(undefined);
  await assertRejects(() => id.joinMulticast(GROUP, { signal: AbortSignal.timeout(1) }));
  bed.net.takeCalls();
  id.close();
  const three = Array.from({ length: 3 }, () => "leave_multicast");
  assertEquals(bed.net.takeCalls(), [...three, "destroy_id"]);
});

test("A group that cannot be joined is left", async (bed) => {
  bed.net.answerGroups(TYPE.MULTICAST_ERROR);
  const id = await bed.net.idIn("BOUND", PortSpace.UDP);
  bed.net.takeCalls();
  await assertRejects(() => id.joinMulticast(GROUP), CmError, "MULTICAST_ERROR");
  assertEquals(bed.net.takeCalls(), ["join_multicast", "leave_multicast"]);
  id.close();
  assertEquals(bed.net.takeCalls(), ["destroy_id"]);
});

test("A queue pair whose modify() closes its id does not wait for ever for the event", async (bed) => {
  class Closing extends QueuePair {
    id: CmId | undefined;
    override modify(attr: QpModifyAttr): void {
      super.modify(attr);
      if (attr.qpState === QpState.ERR) this.id!.close();
    }
  }
  for (const type of [TYPE.DISCONNECTED, TYPE.REJECTED, TYPE.DEVICE_REMOVAL]) {
    const qp = new Closing(bed.pd, {
      qpType: QpType.RC,
      sendCq: bed.cq,
      recvCq: bed.cq,
      cap: { maxSendWr: 1, maxRecvWr: 1 },
    });
    const id = qp.id = await bed.net.idIn("ROUTE_RESOLVED");
    const connected = assertRejects(() => id.connect(qp), TypeError, "was disposed");
    bed.net.takeCalls();
    bed.net.push(id, type, 0, "data");
    await connected;
    assertEquals(bed.net.takeCalls(), ["destroy_id"]);
    // The event goes with its id.
    const none = bed.net.channel.events({ signal: AbortSignal.timeout(1) }).next();
    await assertRejects(() => none);
  }
});

for (const isHeld of [true, false]) {
  for (const type of [TYPE.ADDR_CHANGE, TYPE.DISCONNECTED]) {
    test(`An event that waits in the kernel when its id moves wakes who waits on the ${isHeld ? "" : "unref'd "}new channel for ${type}`, async (bed) => {
      using channel = new EventChannel();
      if (!isHeld) channel.unref();
      const id = await bed.net.idIn("ESTABLISHED");
      const signal = AbortSignal.timeout(5000);
      const waiting = channel.events({ signal }).next();
      // By then it polls.
      await new Promise((resolve) => setTimeout(resolve, 30));
      bed.net.push(id, type);
      id.migrate(channel);
      const { value } = await waiting;
      assertEquals([value?.event, value?.id], [type, id]);
      // It goes on waiting for what comes then.
      const next = channel.events({ signal }).next();
      bed.net.push(id, TYPE.TIMEWAIT_EXIT);
      assertEquals((await next).value?.event, TYPE.TIMEWAIT_EXIT);
    });
  }
}

/** Ends when the events that have come to a channel have been read: a step of an id waits for one that comes after them. */
async function readAll(channel: EventChannel, { net }: FakeBed): Promise<void> {
  using id = new CmId(channel, PortSpace.TCP);
  const step = id.resolveAddr(TO);
  net.push(id, TYPE.ADDR_RESOLVED);
  await step;
}

test("Requests that nobody took move with their listener, and end with it", async (bed) => {
  const listener = await bed.net.idIn("LISTENING");
  const first = bed.net.next();
  bed.net.push(listener, TYPE.CONNECT_REQUEST);
  bed.net.push(listener, TYPE.CONNECT_REQUEST, 0, "second");
  const taken = await first;
  await readAll(bed.net.channel, bed);
  using channel = new EventChannel();
  listener.migrate(channel);
  assertEquals(taken.channel, bed.net.channel);
  bed.net.push(listener, TYPE.CONNECT_REQUEST, 0, "third");
  const { value } = await channel.events().next();
  assertEquals([value!.id.channel, value!.listenId], [channel, listener]);
  assertEquals(new TextDecoder().decode(value!.conn!.privateData), "second");
  await readAll(channel, bed);
  bed.net.takeCalls();
  listener.close();
  assertEquals(bed.net.takeCalls(), ["destroy_id", "destroy_id"]);
});

/** Counts how often a getter of a class is read, until it is disposed of. */
function countReads(prototype: object, name: string): Disposable & { count: number } {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)!;
  const counter = {
    count: 0,
    [Symbol.dispose]: () => void Object.defineProperty(prototype, name, descriptor),
  };
  const get = function (this: object): unknown {
    counter.count++;
    return descriptor.get!.call(this);
  };
  Object.defineProperty(prototype, name, { ...descriptor, get });
  return counter;
}

test("Ids that end in one turn do not look at the steps of each other", async (bed) => {
  const COUNT = 300;
  const ids = Array.from({ length: COUNT }, () => new CmId(bed.net.channel));
  const ended = ids.map((id) => assertRejects(() => id.resolveAddr(TO), TypeError, "Cannot wait"));
  {
    using reads = countReads(Waiters.prototype, "size");
    for (const id of ids) id.close();
    assertGreater(10 * COUNT, reads.count);
  }
  await Promise.all(ended);
});
