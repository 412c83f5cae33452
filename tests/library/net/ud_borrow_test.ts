// Datagrams that are received without a copy.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { LinkLayer, QpState, WcStatus } from "../../../mod.ts";
import { listenUd, type UdOptions } from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { until } from "../../until.ts";
import { UdBed } from "./recorder_ud.ts";

const { BadResource } = Deno.errors;

/** A socket that sends to itself, with four receives and room for two that wait. */
function test(title: string, body: (bed: UdBed) => Promise<void>, options: UdOptions = {}): void {
  Deno.test(title, async () => {
    recorder.reset();
    recorder.answer("ibv_query_port", { link_layer: LinkLayer.ETHERNET });
    recorder.connect();
    await using bed = await UdBed.open(listenUd, { spinMicroseconds: 0, ...options });
    await body(bed);
  });
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

async function sendAll({ conn }: UdBed, words: string): Promise<void> {
  for (const word of words) await conn.send(new TextEncoder().encode(word), conn.addr);
}

test("UdConn.borrow() lends datagrams and their senders until they are given back", async (bed) => {
  const { conn } = bed;
  await sendAll(bed, "a");
  const first = await conn.borrow();
  assertEquals([text(first.bytes), first.from.qpNum], ["a", conn.addr.qpNum]);
  const waiting = conn.borrow();
  await sendAll(bed, "b");
  const second = await waiting;
  assertEquals([first, second].map(({ bytes }) => text(bytes)), ["a", "b"]);
  assertEquals(Deno.inspect(second), "BorrowedDatagram { length: 1 }");
  for (const datagram of [first, second]) {
    datagram.close();
    datagram[Symbol.dispose]();
    assertThrows(() => datagram.bytes, TypeError, "it was given back");
  }
});

test("Borrowed datagrams count among those that may wait, and are not dropped", async (bed) => {
  const { conn } = bed;
  await sendAll(bed, "a");
  const borrowed = await conn.borrow();
  // One may wait beside it.
  await sendAll(bed, "bcd");
  await until("all are read", () => conn.stats.received === 4);
  assertEquals(text((await conn.receive())[0]), "d");
  assertEquals([conn.stats.dropped, text(borrowed.bytes)], [2, "a"]);
  borrowed.close();
  await sendAll(bed, "hi");
  assertEquals([text((await conn.receive())[0]), text((await conn.receive())[0])], ["h", "i"]);
});

test("A reset of the queue pair leaves what is borrowed as it is", async (bed) => {
  const { conn } = bed;
  await sendAll(bed, "a");
  const borrowed = await conn.borrow();
  recorder.answer("ibv_query_qp", { qp_state: QpState.ERR });
  bed.endSend(0, WcStatus.LOC_QP_OP_ERR);
  conn.stats;
  assertEquals(conn.stats.resets, 1);
  recorder.answer("ibv_query_qp", { qp_state: QpState.RTS });
  for (const word of "0123456789") {
    await sendAll(bed, word);
    using datagram = await conn.borrow();
    assertEquals([text(datagram.bytes), text(borrowed.bytes)], [word, "a"]);
  }
  borrowed.close();
});

test("A UdConn receives again when enough is given back", async (bed) => {
  const { conn } = bed;
  const all = [];
  for (const word of "abcdef") {
    const waiting = conn.borrow();
    await sendAll(bed, word);
    all.push(await waiting);
  }
  // All slots are lent: there is no receive, and the recorder drops as a device does.
  assertEquals(all.map(({ bytes }) => text(bytes)).join(""), "abcdef");
  for (const datagram of all.splice(0, 2)) datagram.close();
  const waiting = conn.receive();
  await sendAll(bed, "g");
  assertEquals(text((await waiting)[0]), "g");
  for (const datagram of all) datagram.close();
});

test("What is borrowed outlives a UdConn as a copy", async (bed) => {
  const { conn } = bed;
  await sendAll(bed, "ab");
  const borrowed = await conn.borrow();
  await conn[Symbol.asyncDispose]();
  const late = await conn.borrow();
  assertEquals([text(borrowed.bytes), text(late.bytes)], ["a", "b"]);
  await assertRejects(() => conn.borrow(), BadResource);
  for (const datagram of [borrowed, late]) datagram.close();
});
