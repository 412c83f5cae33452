// What sockets and connections of a program share of a device, and that each of them notices nothing of the others.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import { spy } from "@std/testing/mock";
import { Context, EventType, type Optional, VerbsError, WcOpcode, WcStatus } from "../../../mod.ts";
import { connectRc, listenRc, listenUd, type UdConn, type UdOptions } from "../../../net/mod.ts";
import { checkLeaks } from "../../../types/testing/check_leaks.ts";
import { AsyncEvents } from "../../../types/device/async_events.ts";
import { outputOf } from "../../subprocess.ts";
import { until } from "../../until.ts";
import { bytes, pause, QKEY, RXE, test, text } from "./recorder_net.ts";

function listen(options: Optional<UdOptions> = {}): Promise<UdConn> {
  const few = { recvDepth: 4, sendDepth: 4, maxQueued: 4 };
  return listenUd({ device: RXE, qkey: QKEY, ...few, ...options } as UdOptions);
}

/** How many there are of each kind of object that a socket has. */
function counts(): number[] {
  return ["context", "pd", "qp", "cq", "channel", "mr"].map((kind) => recorder.live(kind));
}

/** The same of so many sockets of one device. */
function countsOf(conns: number): number[] {
  return [Math.min(conns, 1), conns, conns, 2 * conns, 2 * conns, 2 * conns];
}

async function assertWorks(from: UdConn, to: UdConn = from): Promise<void> {
  await from.send(bytes("works"), to.addr);
  const [message, { qpNum }] = await to.receive();
  assertEquals([text(message), qpNum], ["works", from.addr.qpNum]);
}

test("UdConn shares the open device with others of the program, and the last one closes it", async () => {
  for (let round = 0; round < 2; round++) {
    recorder.take();
    const conns = await Promise.all(Array.from({ length: 5 }, () => listen()));
    assertEquals(counts(), countsOf(5));
    assertEquals(recorder.takeOf("ibv_get_device_list").length, 5);
    while (conns.length > 1) {
      const closed = conns.shift()!;
      closed.close();
      assertEquals(counts(), countsOf(conns.length));
      await assertRejects(() => closed.receive(), Deno.errors.BadResource);
      await assertWorks(conns[0]!, conns.at(-1));
      closed.close();
    }
    recorder.take();
    conns[0]!.close();
    assertEquals(recorder.live(), 0);
    // The device must not write to memory that is not registered any more.
    const ends = recorder.takeOf("ibv_destroy_qp", "ibv_dereg_mr", "ibv_close_device");
    const verbs = ["ibv_destroy_qp", "ibv_dereg_mr", "ibv_dereg_mr", "ibv_close_device"];
    assertEquals(ends.map(({ verb }) => verb), verbs);
  }
});

test("UdConn shares the device with RcConn and RcListener", async () => {
  const listener = await listenRc({ device: RXE });
  const connecting = connectRc({ device: RXE, tcpPort: listener.addr.port });
  const [client, server] = await Promise.all([connecting, listener.accept()]);
  const conn = await listen();
  assertEquals(recorder.live("context"), 1);
  const closings = [() => listener.close(), () => client.close(), () => server.close()];
  for (const close of closings) {
    await close();
    await assertWorks(conn);
  }
  await until("the end of the connections", () => recorder.live("qp") === 1);
  assertEquals(counts(), countsOf(1));
  conn.close();
});

test("UdConn without a device shares the first one that has an active port", async () => {
  recorder.setDevices(3);
  await using _second = await listen({ device: "recorder1" });
  await using first = await listen({ device: undefined });
  await using same = await listen({ device: undefined });
  await using named = await listen({ device: RXE });
  assertEquals(recorder.live("context"), 2);
  await assertWorks(first, same);
  await assertWorks(same, named);
});

test("UdConn without a device shares the one whose port is active behind others that are down", async () => {
  recorder.setDevices(2);
  using _down = stubActive((name) => name === "recorder1");
  const conns = [await listen({ device: "recorder1" })];
  conns.push(await listen({ device: undefined }));
  assertEquals(recorder.live("context"), 1);
  conns.push(await listen({ device: RXE }));
  recorder.take();
  conns.push(await listen({ device: undefined }));
  assertEquals(recorder.takeOf("ibv_open_device"), []);
  assertEquals(recorder.live("context"), 2);
  await assertWorks(conns[1]!, conns[3]);
  for (const conn of conns) conn.close();
});

/** Says of each device whether one of its ports is active. */
function stubActive(isActive: (name: string) => boolean): Disposable {
  const own = Object.getOwnPropertyDescriptor(Context.prototype, "hasActivePort")!;
  const get = function (this: Context): boolean {
    return isActive(this.device.name);
  };
  Object.defineProperty(Context.prototype, "hasActivePort", { ...own, get });
  return { [Symbol.dispose]: () => Object.defineProperty(Context.prototype, "hasActivePort", own) };
}

for (const [what, others] of [["the only one", 0], ["one of several", 2]] as const) {
  test(`UdConn that cannot be opened, as ${what} of its device, leaves nothing open`, async () => {
    const conns = await Promise.all(Array.from({ length: others }, () => listen()));
    const before = recorder.live();
    recorder.take();
    const opened = await listen();
    const verbs = recorder.take().map(({ verb }) => verb);
    await opened[Symbol.asyncDispose]();
    const makes = verbs.filter((verb) => /alloc|create|reg_mr|modify|post|_query_gid/.test(verb));
    assertGreater(makes.length, 10);
    for (const [i, verb] of makes.entries()) {
      const skip = makes.slice(0, i).filter((one) => one === verb).length;
      recorder.fail(verb, "ENOMEM", { times: 1, skip });
      await assertRejects(() => listen(), Error, undefined, verb);
      assertEquals([verb, skip, recorder.live()], [verb, skip, before]);
    }
    for (const conn of conns) {
      await assertWorks(conn);
      conn.close();
    }
  });
}

test("UdConn whose signal aborts before it is open, and later, leaves the device to others", async () => {
  await using conn = await listen();
  for (const late of [false, true]) {
    const abort = new AbortController();
    const opening = listen({ signal: abort.signal });
    if (late) await opening;
    abort.abort(new Error("enough"));
    if (!late) await assertRejects(() => opening, Error, "enough");
    else await assertRejects(async () => (await opening).receive(), Deno.errors.BadResource);
    assertEquals([late, ...counts()], [late, ...countsOf(1)]);
  }
  await assertWorks(conn);
});

test("UdConn.close() that fails can be called again, and ends the use of the device once", async () => {
  const other = await listen();
  for (const verb of ["ibv_destroy_qp", "ibv_destroy_cq", "ibv_dereg_mr", "ibv_dealloc_pd"]) {
    const conn = await listen();
    recorder.fail(verb, "EBUSY", { times: 1 });
    assertThrows(() => conn.close(), VerbsError, "EBUSY");
    for (let i = 0; i < 2; i++) conn.close();
    assertEquals([verb, ...counts()], [verb, ...countsOf(1)]);
  }
  await assertWorks(other);
  recorder.fail("ibv_close_device", "EBUSY", { times: 1 });
  assertThrows(() => other.close(), VerbsError, "EBUSY");
  await using next = await listen();
  await assertWorks(next);
  assertEquals(recorder.live("context"), 2);
  other.close();
  assertEquals(counts(), countsOf(1));
});

test("UdConn opens the device anew when the one that others use does not answer any more", async () => {
  await using conn = await listen();
  recorder.fail("___ibv_query_port", "EIO", { times: 1 });
  await using next = await listen();
  await using other = await listen();
  assertEquals(recorder.live("context"), 2);
  conn.close();
  assertEquals(counts(), countsOf(2));
  await assertWorks(next, other);
});

test("UdConn opens another device that has got the name of the one that is open", async () => {
  await using conn = await listen();
  recorder.fail("ibv_get_device_index", "ENODEV", { times: 1, result: 5n });
  await using other = await listen();
  assertEquals(recorder.live("context"), 2);
  await assertWorks(conn, other);
});

test("UdConn looks for its address again after an event, as all of its device do", async () => {
  await using stays = await listen();
  const conns = await Promise.all([1, 2, 3].map(() => listen()));
  for (const conn of [stays, ...conns]) await assertWorks(conn);
  for (let left = conns.length; left >= 0; left--) {
    recorder.take();
    recorder.sendAsyncEvent(left % 2 ? EventType.GID_CHANGE : EventType.DEVICE_FATAL, 1);
    const tables = (): number => recorder.takeOf("_ibv_query_gid_table").length;
    let found = 0;
    await until("the new tables", () => (found += tables()) >= left + 1);
    await pause(20);
    assertEquals(found + tables(), left + 1);
    for (const conn of [stays, ...conns]) await assertWorks(conn);
    conns.pop()?.close();
  }
});

test("UdConn recovers alone", async () => {
  await using conn = await listen();
  const outages: Error[] = [];
  await using broken = await listen({ onOutage: (error) => outages.push(error) });
  const waiting = conn.receive();
  const { qpNum } = broken.addr;
  recorder.complete("cq3", {
    wr_id: 0,
    status: WcStatus.WR_FLUSH_ERR,
    opcode: WcOpcode.RECV,
    qp_num: qpNum,
  });
  const received = broken.receive();
  await until("the reset", () => broken.stats.resets === 1);
  await conn.send(bytes("to the broken one"), broken.addr);
  assertEquals(text((await received)[0]), "to the broken one");
  await broken.send(bytes("to the other one"), conn.addr);
  assertEquals(text((await waiting)[0]), "to the other one");
  assertEquals([conn.stats.resets, broken.stats.resets, outages.length], [0, 1, 1]);
});

test("UdConn fails with all of its device when that is gone, and each can be closed", async () => {
  const conns = await Promise.all([1, 2, 3].map(() => listen()));
  const waiting = conns.map((conn) => assertRejects(() => conn.receive(), VerbsError));
  recorder.sendAsyncEvent(EventType.DEVICE_FATAL, 1);
  recorder.hangUp();
  recorder.fail("ibv_poll_cq", "EIO");
  recorder.fail("___ibv_query_port", "EIO");
  for (const i of [1, 3, 5]) recorder.sendCqEvent(`cq${i}`);
  await Promise.all(waiting);
  await assertRejects(() => listen(), VerbsError, "EIO");
  assertEquals(counts(), countsOf(3));
  for (const conn of conns) conn.close();
});

test("checkLeaks() names a UdConn that is left open, and not the device that it shares", async () => {
  await using before = await listen();
  {
    await using _leaks = checkLeaks();
    await using _conn = await listen();
    await assertWorks(before);
  }
  const leaks = checkLeaks();
  await listen();
  const { message } = assertThrows(() => leaks[Symbol.dispose](), Error, "leaves an object open");
  assertEquals(message.match(/^ +\w+/gm), ["  UdConn"]);
  assertEquals(counts(), countsOf(1));
  await assertWorks(before);
});

test("UdConn leaves nothing behind at the device that another one keeps open", async () => {
  await using conn = await listen();
  using reads = spy(AsyncEvents.prototype, "subscribe");
  for (let i = 0; i < 5; i++) await (await listen())[Symbol.asyncDispose]();
  const [reader] = new Set(reads.calls.map(({ self }) => self));
  // Its own look-out, and its reply path.
  assertEquals([reads.calls.length, reader!.listeners.size], [5, 2]);
  await assertWorks(conn);
});

const url = (path: string): string => JSON.stringify(import.meta.resolve(`../../../${path}`));

Deno.test("UdConn shares no device with those of other Workers, and works on when they have ended", async () => {
  const open = `import * as recorder from ${url("tests/provider/recorder.ts")};
    import { listenUd } from ${url("net/mod.ts")};
    const conn = await listenUd({ device: "recorder0" });`;
  const worker = `${open}
    self.onmessage = async () => { await conn[Symbol.asyncDispose](); self.postMessage("closed"); };
    self.postMessage("open");`;
  const program = `${open}
    recorder.connect();
    const said = (worker) => new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data));
    const workers = [1, 2].map(() =>
      new Worker("data:text/javascript," + encodeURIComponent(${
    JSON.stringify(worker)
  }), { type: "module" }));
    console.log(...await Promise.all(workers.map(said)), recorder.live("context"));
    for (const worker of workers) {
      worker.postMessage("close");
      console.log(await said(worker), recorder.live("context"));
      worker.terminate();
    }
    const again = await listenUd({ device: "recorder0" });
    await again.send(Uint8Array.of(7), again.addr);
    console.log((await again.receive())[0][0], recorder.live("context"));
    again.close();
    conn.close();
    console.log(recorder.live("context"), recorder.violations().length);`;
  const lines = ["open open 3", "closed 2", "closed 1", "7 1", "0 0"];
  assertEquals((await outputOf(program, { importMap: true })).split("\n"), lines);
});
