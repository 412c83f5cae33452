// The memory of connections follows their traffic, and what they promise each other follows the memory.
import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import { VerbsError } from "../../../mod.ts";
import { connectRc, listenRc, type RcConn, type RcOptions } from "../../../net/mod.ts";
import { bytes, pair, pause, rcPair, RXE, test, text, until, warmUp } from "./recorder_net.ts";

const KIB = 1024;
/** Frames of other types than messages: the upper 4 bits of the immediate data. */
const DATA = 1;

/** The bytes that are registered, by the calls since the last look. */
function registered(): number {
  return recorder.takeOf("ibv_reg_mr", "ibv_reg_mr_iova2")
    .reduce((sum, { args }) => sum + Number(args.length), 0);
}

/** The credits of the frames that were sent since the last look. */
function credits(): number[] {
  return recorder.takeOf("ibv_post_send").flatMap(({ args }) => {
    const { imm_data: imm = 0 } = (args["wr[0]"] as RecordedStruct).fields;
    return Number(imm) >>> 28 === DATA ? [] : [Number(imm) & 0xfff_ffff];
  });
}

async function idle(count: number, options: RcOptions = {}): Promise<RcConn[]> {
  const all = { device: RXE, ...options };
  await using listener = await listenRc(all);
  const ends: RcConn[] = [];
  for (let i = 0; i < count; i++) {
    const connecting = connectRc({ ...all, tcpPort: listener.addr.port });
    ends.push(...await Promise.all([connecting, listener.accept()]));
  }
  return ends;
}

for (const count of [1, 2, 20, 100]) {
  test(`RcConn has at most 64 KiB of registered memory at each end while it is idle, of ${count}`, async () => {
    recorder.take();
    const ends = await idle(count);
    assertGreater(2 * count * 64 * KIB + 1, registered());
    for (const end of ends) await end.close();
  });
}

test("RcConn has memory for one message of any length while it is idle", async () => {
  recorder.take();
  const ends = await idle(3, { maxMessage: 2 ** 20 });
  assertGreater(2 * 3 * 2 ** 20 + 2 * 2 ** 20 + 1, registered());
  for (const end of ends) await end.close();
});

pair.test("RcConn that becomes busy gets all its receives, and promises them", async ({ client, server }) => {
  recorder.take();
  let sent = 0;
  const sending = Promise.all(Array.from({ length: 40 }, async (_, i) => {
    await client.send(bytes(`${i}`));
    sent++;
  }));
  await until("the credits", () => sent === 32);
  await pause(20);
  assertEquals(sent, 32);
  assertGreater(registered(), 32 * 32 * KIB - 1);
  for (let i = 0; i < 40; i++) assertEquals(text(await server.receive()), `${i}`);
  await sending;
});

test("RcConn that answers each message promises a few, and no frame is needed for it", async () => {
  await using pair = await rcPair({ keepAlive: 0 });
  const { client, server } = pair;
  const call = async (): Promise<void> => {
    await client.send(bytes("call"));
    await server.receive();
    await server.send(bytes("answer"));
    await client.receive();
  };
  for (let i = 0; i < 20; i++) await call();
  recorder.take();
  for (let i = 0; i < 100; i++) await call();
  assertEquals([credits(), registered()], [[], 0]);
});

test("RcConn takes none of its promises back, whatever becomes of the messages", async () => {
  await using pair = await rcPair({ keepAlive: 0 });
  const { client, server } = pair;
  await warmUp(pair, 200);
  // At least half of it was told.
  const words = Array.from({ length: 16 }, (_, i) => `${i}`);
  for (const round of [1, 2, 3]) {
    await Promise.all(words.map((word) => client.send(bytes(`${round} ${word}`))));
    for (const word of words) assertEquals(text(await server.receive()), `${round} ${word}`);
  }
});

test("RcConn that was busy leaves less memory behind than others use", async () => {
  const ends = await idle(2);
  const [client, server, ...others] = ends as [RcConn, RcConn, ...RcConn[]];
  const before = recorder.live("mr");
  await warmUp({ client, server }, 100);
  assertGreater(recorder.live("mr"), before);
  await client.close();
  await server.close();
  assertGreater(before + 1, recorder.live("mr"));
  const [again, peer] = others as [RcConn, RcConn];
  await warmUp({ client: again, server: peer }, 100);
  for (const end of others) await end.close();
});

test("RcConn works on, more slowly, while no memory can be registered", async () => {
  await using pair = await rcPair({ keepAlive: 0 });
  recorder.fail("ibv_reg_mr", "ENOMEM");
  for (const [from, to] of [[pair.client, pair.server], [pair.server, pair.client]] as const) {
    const sending = (async () => {
      for (let i = 0; i < 50; i++) await from.send(bytes(`${i}`));
    })();
    for (let i = 0; i < 50; i++) assertEquals(text(await to.receive()), `${i}`);
    await sending;
  }
  await warmUp(pair, 100);
});

test("RcConn.send() tells that no memory can be registered if there is none for one message", async () => {
  await using _pair = await rcPair({ keepAlive: 0, maxMessage: 2 ** 20 });
  recorder.fail("ibv_reg_mr", "ENOMEM");
  const error = await assertRejects(() => _pair.client.send(bytes("x")), VerbsError, "register");
  assertEquals((error as VerbsError).code, "ENOMEM");
});

test("RcConn keeps messages apart that come before it has memory of their own", async () => {
  for (const length of [1, 1000, 32 * KIB]) {
    await using pair = await rcPair({ keepAlive: 0 });
    const { client, server } = pair;
    const messages = Array.from({ length: 20 }, (_, i) => new Uint8Array(length).fill(i));
    const sending = Promise.all(messages.map((message) => client.send(message)));
    await pause(5);
    for (const message of messages) assertEquals(await server.receive(), message);
    await sending;
  }
});
