// Datagrams between ports whose MTUs differ: an honest peer sends what its own port takes.
import * as recorder from "../../provider/recorder.ts";
import "../efa/fake.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { type Mtu, mtuBytes, TransportType } from "../../../mod.ts";
import { listenSrd, listenUd, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { QKEY, RXE, test } from "./recorder_net.ts";
import { until } from "../../until.ts";
import { UdBed } from "./recorder_ud.ts";

/** Opens a connection on a port of this MTU. */
async function listenAt(activeMtu: Mtu): Promise<UdConn> {
  recorder.answer("ibv_query_port", { active_mtu: activeMtu });
  return await listenUd({ device: RXE, qkey: QKEY });
}

/** An address as of a peer that does not tell its limit. */
function withoutLimit({ maxMessage: _, ...addr }: UdAddress): UdAddress {
  return addr;
}

const LONGEST = 4096;

/** The next message. Those that are lost do not come. */
async function next(conn: UdConn): Promise<Uint8Array> {
  const [message] = await conn.receive({ signal: AbortSignal.timeout(5000) });
  return message;
}

for (const mtu of [1, 2, 3, 4] as const) {
  const size = mtuBytes(mtu);

  test(`UdConn at an MTU of ${size} counts longer datagrams, and loses no other one`, async () => {
    await using server = await listenAt(mtu);
    await using client = await listenAt(5);
    const addr = withoutLimit(server.addr);
    for (const length of [size + 1, LONGEST, size + 40, size + 41]) {
      for (let i = 0; i < 10; i++) {
        await client.send(new Uint8Array(i < 9 ? i : size).fill(i), addr);
        if (i === 4) await client.send(new Uint8Array(length), addr);
      }
      for (let i = 0; i < 10; i++) {
        assertEquals(await next(server), new Uint8Array(i < 9 ? i : size).fill(i));
      }
    }
    const { received, dropped, recvErrors, resets } = server.stats;
    assertEquals([received, dropped, recvErrors, resets], [44, 4, 0, 0]);
  });

  test(`UdConn.send() refuses what a peer at an MTU of ${size} does not take`, async () => {
    await using server = await listenAt(mtu);
    await using client = await listenAt(5);
    assertEquals([server.addr.maxMessage, client.maxMessage], [size, LONGEST]);
    const addr: UdAddress = JSON.parse(JSON.stringify(server.addr));
    const long = new Uint8Array(size + 1);
    const limit = `the message has ${size + 1} bytes, and the peer takes at most ${size}`;
    for (const send of [() => client.send(long, addr), () => client.sendMany([[long, addr]])]) {
      await assertRejects(send, RangeError, limit);
    }
    assertEquals(client.stats.sent, 0);
    await client.send(new Uint8Array(size), addr);
    assertEquals((await next(server)).length, size);
    // The same peer by an address with another limit.
    await assertRejects(() => client.send(long, { ...addr, maxMessage: 8 }), RangeError, "most 8");
    await client.send(long, withoutLimit(addr));
    await until("the long one", () => server.stats.dropped === 1);
  });
}

Deno.test("listenSrd() gives messages that are longer than its own: their senders know that they have arrived", async () => {
  recorder.reset();
  recorder.setField("device", "transport_type", TransportType.UNSPECIFIED);
  recorder.answer("ibv_query_port", { max_msg_sz: 4000 });
  await using bed = await UdBed.open(listenSrd);
  const { conn } = bed;
  assertEquals([conn.maxMessage, conn.addr.maxMessage], [4000, 4000]);
  for (const [slot, length] of [[0, 4001], [1, 8928]] as const) {
    bed.endRecv(slot, { slid: 0xffff, byte_len: length });
    const short = new Uint8Array(4000);
    await assertRejects(() => conn.receive(short), RangeError, `has ${length} bytes`);
    assertEquals((await conn.receive())[0].length, length);
  }
  assertEquals(conn.stats.dropped, 0);
});
