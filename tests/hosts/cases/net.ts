/** Connections and sockets of the net module between two hosts. */

import { assertEquals } from "@std/assert";
import {
  connectRc,
  listenRc,
  listenUd,
  type RemoteMemory,
  type UdAddress,
} from "../../../net/mod.ts";
import { QKEY, RXE } from "../../device/setup.ts";
import type { HostCase, Run } from "../host_case.ts";
import { answerTo, payloadOf } from "../ud_end.ts";

/** Longer than a guest stands still. */
export const CONNECT = { device: RXE, connectTimeout: 60_000, ackTimeout: 17 } as const;
const patience = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(60_000) });
const BLOCK = 5000;
const COUNTER = 8 * Math.ceil(BLOCK / 8);

async function useRc(run: Run): Promise<void> {
  const tcpPort = await run.session.receive<number>();
  await using conn = await connectRc({ ...CONNECT, hostname: "10.0.0.2", tcpPort });
  const memory = await run.session.receive<RemoteMemory>();
  for (let i = 0; i < run.messages; i++) {
    await conn.send(payloadOf(i));
    assertEquals(await conn.receive(patience()), answerTo(payloadOf(i)));
    const block = new Uint8Array(BLOCK).fill(i);
    await conn.write(memory, 0, block);
    assertEquals(await conn.read(memory, 0, BLOCK), block);
    assertEquals(await conn.fetchAndAdd(memory, COUNTER, 3n), BigInt(3 * i));
    run.count(1);
  }
  await conn.close();
}

async function serveRc(run: Run): Promise<void> {
  await using listener = await listenRc({ ...CONNECT, hostname: "0.0.0.0" });
  await run.session.send(listener.addr.port);
  await using conn = await listener.accept(patience());
  using memory = await conn.expose(COUNTER + 8);
  await run.session.send(memory.remote);
  for await (const message of conn) await conn.send(answerTo(message));
  const counter = new DataView(memory.bytes.buffer, memory.bytes.byteOffset + COUNTER);
  assertEquals(counter.getBigUint64(0, true), BigInt(3 * run.messages));
}

async function useUd(run: Run): Promise<void> {
  const address = await run.session.receive<UdAddress>();
  await using conn = await listenUd({ device: RXE, qkey: QKEY });
  for (let i = 0; i < run.messages; i++) {
    await conn.send(payloadOf(i), address);
    const [answer, from] = await conn.receive(patience());
    assertEquals([answer, from.qpNum], [answerTo(payloadOf(i)), address.qpNum]);
    run.count(1);
  }
}

async function serveUd(run: Run): Promise<void> {
  await using conn = await listenUd({ device: RXE, qkey: QKEY });
  await run.session.send(conn.addr);
  for (let i = 0; i < run.messages; i++) {
    const [message, from] = await conn.receive(patience());
    await conn.send(answerTo(message), from);
  }
}

/** One case for each kind of connection. */
export const net: readonly HostCase[] = [
  {
    name: "RcConn carries messages, and uses the peer's memory",
    first: useRc,
    second: serveRc,
  },
  { name: "UdConn carries datagrams, and answers them", first: useUd, second: serveUd },
];
