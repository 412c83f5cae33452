// A datagram socket whose requests fail, as when the address of the host is gone.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  EventType,
  Gid,
  GidType,
  type Optional,
  QpState,
  VerbsError,
  WcStatus,
} from "../../../mod.ts";
import { structs } from "../../../ffi/layout.ts";
import { listenUd, type UdOptions } from "../../../net/mod.ts";
import type { Call, RecordedStruct } from "../../provider/records.ts";
import { until } from "../../until.ts";
import { pause, QKEY, UdBed } from "./recorder_ud.ts";

const { WR_FLUSH_ERR, LOC_QP_OP_ERR } = WcStatus;
const { ERR, RTS } = QpState;

/** A connection that has sent one datagram. */
async function open(options: Optional<UdOptions> = {}): Promise<UdBed> {
  recorder.reset();
  const bed = await UdBed.open(listenUd, options);
  const { conn } = bed;
  await conn.send(MESSAGE, conn.addr);
  bed.endSend(0);
  assertEquals(conn.stats.sent, 1);
  recorder.take();
  return bed;
}

/** Defines a test of such a connection. */
function test(title: string, body: (bed: UdBed) => Promise<void>): void {
  Deno.test(title, async () => {
    await using bed = await open();
    await body(bed);
  });
}

/** What the device says of the queue pair's state. */
function setState(state: QpState): void {
  recorder.answer("ibv_query_qp", { qp_state: state });
}

/** The states that the queue pair was moved to, and the number of receives posted, since the last look. */
function moves(): (QpState | string)[] {
  return recorder.takeOf("ibv_modify_qp", "ibv_post_recv").map(({ verb, args }) => {
    if (verb === "ibv_modify_qp") return (args.attr as RecordedStruct).fields.qp_state as QpState;
    return `${Object.keys(args).filter((name) => /^wr\[\d+\]$/.test(name)).length} receives`;
  });
}

const RESTARTED = [QpState.RESET, QpState.INIT, QpState.RTR, RTS, "4 receives"];
const MESSAGE = Uint8Array.of(1);

/** Sends a datagram that fails, and leaves the queue pair in a state. */
async function failSend(bed: UdBed, state: QpState): Promise<void> {
  const { conn } = bed;
  await conn.send(MESSAGE, conn.addr);
  await pause();
  recorder.take();
  bed.endSend(0, LOC_QP_OP_ERR);
  setState(state);
}

test("UdConn resets its queue pair after a failed send, counts what is lost, and works on", async (bed) => {
  const { conn } = bed;
  const { outages } = bed;
  const { qpNum } = conn.addr;
  for (let outage = 1; outage <= 3; outage++) {
    // One fails, one is in progress, and one is not posted yet.
    for (let i = 0; i < 2; i++) await conn.send(MESSAGE, conn.addr);
    await pause();
    void conn.send(MESSAGE, conn.addr);
    bed.endSend(1, LOC_QP_OP_ERR);
    setState(ERR);
    const { sendErrors, recvErrors, resets } = conn.stats;
    assertEquals([sendErrors, recvErrors, resets], [3 * outage, 0, outage]);
    assertEquals(moves(), RESTARTED);
    // The next one is sent with a new handle.
    await conn.send(MESSAGE, conn.addr);
    await pause();
    const calls = recorder.take().map(({ verb }) => verb);
    assertEquals(calls.filter((verb) => /create_ah|post_send/.test(verb)), [
      "ibv_create_ah",
      "ibv_post_send",
    ]);
    bed.endSend(1);
    assertEquals(conn.stats.sent, 1 + 4 * outage);
    assertEquals(outages.length, outage);
  }
  assertEquals([conn.addr.qpNum, conn.addr.qkey], [qpNum, QKEY]);
  assertEquals(outages, ["LOC_QP_OP_ERR", "LOC_QP_OP_ERR", "LOC_QP_OP_ERR"]);
});

test("UdConn moves its queue pair on when a failed send has stopped sends alone", async (bed) => {
  await failSend(bed, QpState.SQE);
  assertEquals([bed.conn.stats.sendErrors, bed.conn.stats.resets], [1, 0]);
  const [{ args }, ...others] = recorder.takeOf("ibv_modify_qp") as [Call, ...Call[]];
  const { qp_state, cur_qp_state } = (args.attr as RecordedStruct).fields;
  assertEquals([qp_state, cur_qp_state, others], [RTS, QpState.SQE, []]);
});

test("UdConn warns once while nothing is sent or received", async (bed) => {
  const { conn, outages } = bed;
  const fail = async (): Promise<void> => {
    await failSend(bed, ERR);
    assertEquals(conn.stats.sendErrors > 0, true);
    await pause();
  };
  for (let i = 0; i < 3; i++) await fail();
  assertEquals([conn.stats.resets, outages.length], [3, 1]);
  // A datagram that comes ends the outage, as one that is sent does.
  bed.endRecv(0);
  await conn.receive();
  await fail();
  assertEquals([conn.stats.resets, outages.length], [4, 2]);
});

test("UdConn gives what came before a failed receive, and posts all receives again", async (bed) => {
  const { conn } = bed;
  const { outages } = bed;
  const waiting = [conn.receive(), conn.receive()];
  bed.endRecv(0);
  bed.endRecv(1, { status: WR_FLUSH_ERR });
  bed.endRecv(2, { status: WR_FLUSH_ERR });
  const [message] = await waiting[0]!;
  assertEquals(message.length, 1);
  await pause();
  assertEquals(moves(), RESTARTED);
  // Who waits goes on waiting.
  bed.endRecv(1);
  await waiting[1];
  const { received, recvErrors, resets } = conn.stats;
  assertEquals([received, recvErrors, resets, outages], [2, 0, 1, ["WR_FLUSH_ERR"]]);
});

test("UdConn.send() that waits for a slot gets the first one that is free, in turn", async (bed) => {
  const { conn } = bed;
  for (let i = 0; i < 4; i++) await conn.send(MESSAGE, conn.addr);
  const messages = [2, 3, 4].map((length) => new Uint8Array(length));
  const waiting = messages.map((message) => conn.send(message, conn.addr));
  const refused = assertRejects(() => waiting[1]!, TypeError, "message is detached");
  await pause();
  messages[1]!.buffer.transfer();
  const order: number[] = [];
  for (const sent of [waiting[0]!, waiting[2]!]) void sent.then((length) => order.push(length));
  recorder.take();
  bed.endSend(1);
  assertEquals(await waiting[0], 2);
  await pause();
  assertEquals([order, recorder.takeOf("ibv_post_send").length], [[2], 1]);
  bed.endSend(2);
  await Promise.all([refused, waiting[2]]);
  assertEquals([order, conn.stats.sent], [[2, 4], 7]);
});

test("UdConn.send() that waits for a slot goes on after a reset", async (bed) => {
  const { conn } = bed;
  for (let i = 0; i < 4; i++) await conn.send(MESSAGE, conn.addr);
  const waiting = [conn.send(MESSAGE, conn.addr), conn.send(MESSAGE, conn.addr)];
  await pause();
  setState(ERR);
  bed.endSend(0, LOC_QP_OP_ERR);
  assertEquals(await Promise.all(waiting), [1, 1]);
  await pause();
  assertEquals(recorder.takeOf("ibv_post_send").length > 0, true);
  const { sent, sendErrors, resets } = conn.stats;
  assertEquals([sent, sendErrors, resets], [7, 4, 1]);
});

test("UdConn.send() rejects while there is no address, and works when it is back", async (bed) => {
  const { conn } = bed;
  await failSend(bed, ERR);
  assertEquals(conn.stats.resets, 1);
  // Without thunks a verb that failed on another thread is called again, to learn its errno.
  recorder.fail("ibv_create_ah", "EINVAL", { times: 4 });
  for (let i = 0; i < 2; i++) {
    await assertRejects(
      () => conn.send(MESSAGE, conn.addr),
      VerbsError,
    );
  }
  while (await conn.send(MESSAGE, conn.addr).catch(() => 0) === 0);
  assertEquals(conn.stats.resets, 1);
});

test("UdConn fails for good when its queue pair cannot be reset", async (bed) => {
  const { conn, outages } = bed;
  const receiving = assertRejects(() => conn.receive(), VerbsError, "EIO");
  const datagrams = conn[Symbol.asyncIterator]();
  const iterating = assertRejects(() => datagrams.next(), VerbsError, "EIO");
  recorder.fail("ibv_modify_qp", "EIO");
  await failSend(bed, ERR);
  assertEquals(conn.stats.resets, 1);
  await Promise.all([receiving, iterating]);
  assertEquals(await datagrams.next(), { value: undefined, done: true });
  await assertRejects(() => conn.send(MESSAGE, conn.addr), VerbsError, "EIO");
  assertEquals(outages, []);
});

test("UdConn.stats gives its last values when the device does not answer any more", async (bed) => {
  const { conn } = bed;
  await conn.send(MESSAGE, conn.addr);
  const { stats } = conn;
  recorder.fail("ibv_poll_cq", "EIO");
  assertEquals([conn.stats, conn.stats], [stats, stats]);
  await assertRejects(() => conn.send(MESSAGE, conn.addr), VerbsError, "ibv_poll_cq");
});

Deno.test("UdConn writes a warning to the console, and closes its connection when told so there", async () => {
  using warned = stub(console, "warn");
  const bed = await open({ onOutage: undefined as never });
  await failSend(bed, ERR);
  assertEquals(bed.conn.stats.resets, 1);
  await pause();
  assertEquals(warned.calls.length, 1);
  const [message] = warned.calls[0]!.args as string[];
  assertStringIncludes(message!, "A UdConn of recorder0 was reset after an error, and works on");
  await bed[Symbol.asyncDispose]();
  const closing = await open({ onOutage: () => closing.conn.close() });
  await failSend(closing, ERR);
  assertEquals(closing.conn.stats.resets, 1);
  await assertRejects(() => closing.conn.receive(), Deno.errors.BadResource);
  await closing[Symbol.asyncDispose]();
});

/** The GID table of the port, as the recorder answers it. */
function setGids(gids: readonly [gid: string, index: number][]): void {
  const { size, fields } = structs.ibv_gid_entry;
  const view = new DataView(new ArrayBuffer(size * gids.length));
  for (const [i, [gid, index]] of gids.entries()) {
    new Uint8Array(view.buffer).set(Gid.parse(gid).bytes, i * size + fields.gid.offset);
    view.setUint32(i * size + fields.gid_index.offset, index, true);
    view.setUint32(i * size + fields.port_num.offset, 1, true);
    view.setUint32(i * size + fields.gid_type.offset, GidType.ROCE_V2, true);
  }
  recorder.answerBytes("_ibv_query_gid_table", view);
}

test("UdConn takes the recommended GID of a changed table when none was chosen", async (bed) => {
  setGids([["fe80::5", 0], ["10.0.0.8", 5]]);
  recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
  await until("the new table", () => recorder.takeOf("_ibv_query_gid_table").length > 0);
  assertEquals([bed.conn.addr.gid, bed.conn.gidIndex], ["::ffff:10.0.0.8", 5]);
});

for (
  const [what, address, index] of [["follows", "10.0.0.1", 5], ["keeps", "10.9.9.9", 1]] as const
) {
  Deno.test(`UdConn ${what} a chosen GID when the table has ${address} at index 5`, async () => {
    await using bed = await open({ gidIndex: 1 });
    const { conn } = bed;
    setGids([["fe80::5", 0], [address, 5]]);
    recorder.sendAsyncEvent(EventType.GID_CHANGE, 1);
    await until("the new table", () => recorder.takeOf("_ibv_query_gid_table").length > 0);
    assertEquals([conn.addr.gid, conn.gidIndex], ["::ffff:10.0.0.1", index]);
  });
}
