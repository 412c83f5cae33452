// Datagram sockets on a recorder that is taken for an Elastic Fabric Adapter: what is told to it, and what it tells.

import "./fake.ts";
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { QpState, TransportType, VerbsError, WcStatus, WorkCompletionError } from "../../../mod.ts";
import { listenSrd, listenUd, type SrdOptions, type UdConn } from "../../../net/mod.ts";
import { structs } from "../../../ffi/layout.ts";
import type { Label, RecordedStruct } from "../../provider/records.ts";
import { until } from "../../until.ts";
import { pause, QKEY, UdBed } from "../net/recorder_ud.ts";

const MAX_MESSAGE = 8928;
/** The GID that the library of the tests tells of unknown senders. */
const GID = "102::";
const UNKNOWN = 0xffff;
const { RNR_RETRY_EXC_ERR, WR_FLUSH_ERR } = WcStatus;

/** Takes the recorder for an adapter. */
function reset(): void {
  recorder.reset();
  recorder.setField("device", "transport_type", TransportType.UNSPECIFIED);
  recorder.answer("ibv_query_port", { max_msg_sz: MAX_MESSAGE });
}

async function open(
  listen: (options: SrdOptions) => Promise<UdConn> = listenSrd,
  options: Partial<SrdOptions> = {},
): Promise<UdBed> {
  reset();
  return await UdBed.open(listen, options);
}

/** Defines a test of a connection that listenSrd() gives. */
function test(title: string, body: (bed: UdBed) => Promise<void>): void {
  Deno.test(title, async () => {
    await using bed = await open();
    await body(bed);
  });
}

/** The number of a handle, as the library of the tests tells it. */
function numberOf(ah: Label): number {
  const { offset } = structs.ibv_ah.fields.handle;
  return new Deno.UnsafePointerView(recorder.pointerTo(ah)).getUint32(offset);
}

/** Comes back when so many datagrams have had a slot. Handles are made on another thread. */
async function untilSent(conn: UdConn, sent: number): Promise<void> {
  await until(`${sent} sends`, () => conn.stats.sent === sent);
}

/** Begins sends of 1, 2, ... bytes, as many of which get a slot now, and notes how they end. */
async function send(
  conn: UdConn,
  count: number,
  slots: number = count,
): Promise<{ ends: string[]; all: Promise<void> }> {
  const { sent } = conn.stats;
  const ends: string[] = [];
  const sends = Array.from(
    { length: count },
    (_, i) =>
      conn.send(new Uint8Array(i + 1), conn.addr).then(
        (length) => void ends.push(`${length}`),
        (error) => void ends.push(`${i + 1} ${error.message}`),
      ),
  );
  await untilSent(conn, sent + slots);
  return { ends, all: Promise.all(sends).then(() => {}) };
}

Deno.test("UdConn.join() and lookup() say that the connection manager does not know adapters", async () => {
  await using bed = await open(listenUd);
  const { NotSupported } = Deno.errors;
  await assertRejects(() => bed.conn.join("239.1.2.3"), NotSupported, "Elastic Fabric Adapter");
  const lookup = bed.conn.lookup({ hostname: "host", port: 7471 });
  await assertRejects(() => lookup, NotSupported, "Elastic Fabric Adapter");
});

test("A send of listenSrd() ends when its message has arrived, in whatever order", async (bed) => {
  const { conn } = bed;
  const { ends, all } = await send(conn, 4);
  assertEquals([ends, conn.stats.sent], [[], 4]);
  for (const slot of [2, 0]) bed.endSend(slot);
  await until("two ends", () => ends.length === 2);
  for (const slot of [3, 1]) bed.endSend(slot);
  await all;
  assertEquals([ends, conn.stats.sendErrors], [["3", "1", "4", "2"], 0]);
});

Deno.test("A send of listenSrd() that waits for a receive holds up no other one", async () => {
  await using bed = await open(listenSrd, { sendDepth: 2 });
  const { conn } = bed;
  const { ends, all } = await send(conn, 4, 2);
  // Slot 0 is that of a peer who does not receive: the others share slot 1.
  for (let i = 1; i <= 3; i++) {
    bed.endSend(1);
    await until("an end", () => ends.length === i);
  }
  assertEquals(ends, ["2", "3", "4"]);
  bed.endSend(0);
  await all;
  assertEquals(ends.at(-1), "1");
});

test("A send of listenSrd() that fails says so, and the connection goes on as it was", async (bed) => {
  const { conn } = bed;
  recorder.answer("ibv_query_qp", { qp_state: QpState.RTS });
  const first = await send(conn, 3);
  recorder.take();
  bed.endSend(1, RNR_RETRY_EXC_ERR);
  for (const slot of [0, 2]) bed.endSend(slot);
  await first.all;
  assertEquals(first.ends.map((end) => end.slice(0, 1)), ["2", "1", "3"]);
  assertEquals(first.ends[0]!.includes("RNR_RETRY_EXC_ERR"), true, first.ends[0]);
  const { sendErrors, resets, recvErrors } = conn.stats;
  assertEquals([sendErrors, resets, recvErrors], [1, 0, 0]);
  // The number of a handle names a sender, so it stays, also when no send uses it any more.
  const changes = recorder.take().filter(({ verb }) => /destroy_ah|modify_qp/.test(verb));
  assertEquals(changes, []);
  const many = conn.sendMany([[new Uint8Array(1), conn.addr], [new Uint8Array(2), conn.addr]]);
  await untilSent(conn, 5);
  bed.endSend(3);
  bed.endSend(1, RNR_RETRY_EXC_ERR);
  await assertRejects(() => many, WorkCompletionError, "RNR_RETRY_EXC_ERR");
});

Deno.test("Sends of listenSrd() end with the reason when the queue pair is reset, and when it is closed", async () => {
  await using bed = await open(listenSrd, { onOutage: () => {} });
  const { conn } = bed;
  const first = await send(conn, 2);
  recorder.answer("ibv_query_qp", { qp_state: QpState.ERR });
  bed.endRecv(0, { status: WR_FLUSH_ERR });
  await assertRejects(() => conn.receive({ signal: AbortSignal.timeout(20) }));
  await first.all;
  const { sendErrors, resets } = conn.stats;
  assertEquals([first.ends.length, sendErrors, resets], [2, 2, 1]);
  assertEquals(first.ends.every((end) => end.includes("WR_FLUSH_ERR")), true, first.ends[0]);
  const second = await send(conn, 1);
  conn.close();
  await second.all;
  assertEquals(second.ends, ["1 Cannot send: the socket is closed"]);
});

Deno.test("A send of listenSrd() ends when its signal aborts, and its slot when the device is done", async () => {
  await using bed = await open(listenSrd, { sendDepth: 1 });
  const { conn } = bed;
  const one = new Uint8Array(1);
  const abort = new AbortController();
  const aborted = conn.send(one, conn.addr, { signal: abort.signal });
  await untilSent(conn, 1);
  abort.abort();
  await assertRejects(() => aborted, DOMException);
  // The slot is in use.
  const signal = AbortSignal.timeout(20);
  await assertRejects(() => conn.send(one, conn.addr, { signal }), DOMException);
  const { ends, all } = await send(conn, 1, 0);
  bed.endSend(0);
  await untilSent(conn, 2);
  assertEquals(ends, []);
  bed.endSend(0);
  await all;
});

test("A send of listenSrd() whose handle cannot be made says so", async (bed) => {
  recorder.fail("ibv_create_ah", "ENOMEM");
  const { ends, all } = await send(bed.conn, 2, 0);
  await all;
  assertEquals(ends.map((end) => end.includes("ENOMEM")), [true, true]);
  assertEquals(bed.conn.stats.sent, 0);
});

Deno.test("listenSrd() keeps the handles of as many peers as messages may wait", async () => {
  await using bed = await open(listenSrd, { maxPeers: 1, maxQueued: 4 });
  const { conn } = bed;
  recorder.take();
  const gids = ["fe80::1", "fe80::2", "fe80::3", "fe80::4"];
  for (const gid of gids) void conn.send(new Uint8Array(1), { ...conn.addr, gid }).catch(() => {});
  const made = recorder.takeOf("ibv_create_ah").map(({ result }) => numberOf(result as Label));
  for (const [slot, number] of made.entries()) {
    bed.endRecv(slot, { slid: number, src_qp: 5, byte_len: 1 });
  }
  for (const gid of gids) assertEquals((await conn.receive())[1].gid, gid);
});

for (const [name, listen] of [["Srd", listenSrd], ["Ud", listenUd]] as const) {
  for (const sendDepth of [4, 32]) {
    Deno.test(`listen${name}() sends to more new peers at once than it keeps handles, with ${sendDepth} slots`, async () => {
      await using bed = await open(listen, { maxPeers: 2, sendDepth });
      const { conn } = bed;
      // Those of closed handles stay open for as long as their number may name a sender.
      const count = 3 * 2 * 4 + 1;
      let ended = 0;
      recorder.take();
      const sends = Array.from({ length: count }, (_, i) => {
        const gid = `fe80::${(i + 1).toString(16)}`;
        return conn.send(Uint8Array.of(i), { ...conn.addr, gid }).finally(() => ended++);
      });
      while (ended < count) {
        await pause();
        const posts = recorder.takeOf("ibv_post_send").flatMap(({ args }) =>
          Object.entries(args).filter(([name]) => /^wr\[\d+\]$/.test(name))
        );
        for (const [, wr] of posts) bed.endSend(Number((wr as RecordedStruct).fields.wr_id));
        void conn.stats;
      }
      assertEquals(await Promise.all(sends), sends.map(() => 1));
      assertEquals([conn.stats.sent, conn.stats.sendErrors], [count, 0]);
    });
  }
}

for (const [name, listen, headroom] of [["Srd", listenSrd, 0], ["Ud", listenUd, 40]] as const) {
  Deno.test(`listen${name}() finds senders by their GID, and then by the number of a handle`, async () => {
    await using bed = await open(listen);
    const { conn } = bed;
    const lengths: number[] = [];
    const next = async (slot: number, slid: number, srcQp = 5) => {
      bed.endRecv(slot, { slid: slid, src_qp: srcQp, byte_len: headroom + slot + 1 });
      const [{ length }, from] = await conn.receive();
      lengths.push(length);
      return from;
    };
    // Receives end in any order.
    const stranger = await next(3, UNKNOWN);
    const { transport } = conn.addr;
    assertEquals(stranger, { transport, gid: GID, lid: 0, qpNum: 5, qkey: QKEY });
    recorder.take();
    void conn.send(new Uint8Array(1), stranger).catch(() => {});
    await untilSent(conn, 1);
    const { args, result } = recorder.takeOne("ibv_create_ah");
    const { fields } = args.attr as RecordedStruct;
    assertEquals([fields.is_global, fields["grh.sgid_index"], fields["grh.hop_limit"]], [1, 0, 0]);
    const number = numberOf(result as Label);
    assertStrictEquals(await next(1, number), stranger);
    assertEquals((await next(0, number, 6)).qpNum, 6);
    assertStrictEquals(await next(2, UNKNOWN), stranger);
    assertEquals(lengths, [4, 2, 1, 3]);
    // No handle has this number: nobody knows who that was.
    bed.endRecv(4, { slid: 77, src_qp: 5, byte_len: headroom + 1 });
    assertStrictEquals(await next(5, UNKNOWN), stranger);
    assertEquals([conn.stats.dropped, conn.stats.received], [1, 6]);
  });

  Deno.test(`listen${name}() sends what the adapter's packets hold, and tells the limit`, async () => {
    await using bed = await open(listen);
    const { conn } = bed;
    assertEquals(conn.maxMessage, MAX_MESSAGE);
    assertEquals(conn.gidReason, "an Elastic Fabric Adapter has one GID");
    const long = new Uint8Array(MAX_MESSAGE + 1);
    const limit = `has ${MAX_MESSAGE + 1} bytes, and maxMessage is ${MAX_MESSAGE}`;
    await assertRejects(() => conn.send(long, conn.addr), RangeError, limit);
    await assertRejects(() => conn.sendMany([[long, conn.addr]]), RangeError, limit);
    const transport = name === "Ud" ? "SRD" : "UD";
    const other = conn.send(new Uint8Array(1), { ...conn.addr, transport });
    await assertRejects(() => other, TypeError, `its transport is not "${conn.addr.transport}"`);
  });
}

Deno.test("listenSrd() needs an adapter, and says so", async () => {
  reset();
  recorder.setDevices(2);
  const first = await listenSrd({ qkey: QKEY });
  await first[Symbol.asyncDispose]();
  await assertRejects(() => listenSrd({ qkey: QKEY, device: "nosuch0" }), Deno.errors.NotFound);
  recorder.fail("ibv_create_cq_ex", "EOPNOTSUPP");
  const older = await assertRejects(() => listenSrd({ qkey: QKEY }), VerbsError);
  assertEquals([older.verb, older.code], ["efadv_create_cq", "EOPNOTSUPP"]);
  recorder.reset();
  for (const [device, what] of [["recorder0", "recorder0 is"], [undefined, "this host has"]]) {
    const options = { qkey: QKEY, ...device !== undefined && { device } };
    const { message } = await assertRejects(
      () => listenSrd(options),
      Deno.errors.NotSupported,
    );
    const start = `Cannot listen for reliable datagrams (SRD): ${what} no Elastic Fabric Adapter`;
    assertEquals([message.slice(0, start.length), message.includes("listenUd()")], [start, true]);
  }
  assertEquals([recorder.live(), recorder.violations()], [0, []]);
});

Deno.test("listenSrd() gives the queue pair its options, and refuses wrong ones", async () => {
  for (const rnrRetry of [undefined, 0, 7]) {
    recorder.take();
    await using _ = await open(listenSrd, { ...rnrRetry !== undefined && { rnrRetry } });
    const moves = recorder.takeOf("ibv_modify_qp").map(({ args }) =>
      (args.attr as RecordedStruct).fields
    );
    assertEquals(moves.map(({ qp_state }) => qp_state), [QpState.INIT, QpState.RTR, QpState.RTS]);
    assertEquals([moves[0]!.qkey, moves[2]!.rnr_retry], [QKEY, rnrRetry ?? 0]);
  }
  for (const rnrRetry of [-1, 8, 0.5, "1"]) {
    await assertRejects(() => listenSrd({ qkey: 1, rnrRetry } as SrdOptions), Error, "rnrRetry");
  }
  await assertRejects(() => listenUd({ qkey: 1, rnrRetry: 1 } as SrdOptions), TypeError);
});
