// What is borrowed from connections of `@rdma/ibverbs/net`, on a device that writes messages at native speed meanwhile.
import { assertEquals } from "@std/assert";
import { connectRc, listenRc, listenUd, type RcConn } from "../../../net/mod.ts";
import { QKEY, RXE, test } from "../shm_device.ts";

const LENGTH = 1024;
const COUNT = 2000;

/** A message of which each byte has the number. */
const numbered = (i: number): Uint8Array<ArrayBuffer> => new Uint8Array(LENGTH).fill(i);

/** The numbers of all bytes, each once. */
const numbersIn = (bytes: Uint8Array): number[] => [...new Set(bytes)];

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

async function sendAll(conn: RcConn): Promise<void> {
  for (let i = 0; i < COUNT; i++) await conn.send(numbered(i));
}

test("Borrowed messages stay as they are while the peer sends as fast as it can", async () => {
  const options = { device: RXE, credits: 16, maxMessage: LENGTH };
  await using listener = await listenRc(options);
  await using client = await connectRc({ ...options, tcpPort: listener.addr.port });
  await using server = await listener.accept();
  const sending = sendAll(client);
  const borrowed = [];
  for (let i = 0; i < COUNT; i++) {
    borrowed.push((await server.borrow())!);
    if (borrowed.length < 12) continue;
    // Some are given back, out of order, and the oldest of the others are as they were.
    for (const at of [7, 3, 0]) borrowed.splice(at, 1)[0]!.close();
    const [oldest] = borrowed;
    assertEquals(numbersIn(oldest!.bytes).length, 1);
  }
  await sending;
  assertEquals(borrowed.map(({ bytes }) => numbersIn(bytes).length), borrowed.map(() => 1));
  assertEquals(numbersIn(borrowed.at(-1)!.bytes), [(COUNT - 1) & 0xff]);
  for (const message of borrowed) message.close();
});

test("Borrowed datagrams stay as they are while others come and are dropped", async () => {
  const options = { device: RXE, qkey: QKEY, recvDepth: 16, maxQueued: 8 };
  await using server = await listenUd(options);
  await using client = await listenUd(options);
  const borrowed = [];
  for (let i = 0; i < 4; i++) {
    await client.send(numbered(i), server.addr);
    borrowed.push(await server.borrow());
  }
  for (let i = 0; i < COUNT; i++) {
    await client.send(numbered(i), server.addr);
    if (i % 50 === 0) await pause();
  }
  assertEquals(borrowed.map(({ bytes }) => numbersIn(bytes)), [[0], [1], [2], [3]]);
  assertEquals(borrowed.map(({ from }) => from.qpNum), borrowed.map(() => client.addr.qpNum));
  for (const datagram of borrowed) datagram.close();
});
