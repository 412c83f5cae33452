// Messages that are received without a copy, and several at once.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  BorrowedMessage,
  connectRc,
  listenRc,
  type RcConn,
  type RcOptions,
} from "../../../net/mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { bytes, pair, pairs, pause, RXE, test, text, warmUp } from "./recorder_net.ts";

const two: RcOptions = { credits: 2, sendDepth: 8, maxMessage: 64, keepAlive: 0 };
const GIVEN_BACK = "Cannot read borrowed message: it was given back";

async function sendAll(conn: RcConn, words: string): Promise<void> {
  for (const word of words) await conn.send(bytes(word));
}

pair.test("RcConn.receiveMany() takes what has come, one message after another", async ({ client, server }) => {
  const buffer = new Uint8Array(6);
  const waiting = server.receiveMany(buffer);
  await client.send(bytes("first"));
  assertEquals((await waiting)!.map(text), ["first"]);
  await warmUp({ client, server }, 8);
  for (const word of ["", "one", "", "two", "three"]) await client.send(bytes(word));
  await pause(5);
  const taken = (await server.receiveMany(buffer))!;
  assertEquals(taken.map(text), ["", "one", "", "two"]);
  assertEquals(taken.every((message) => message.buffer === buffer.buffer), true);
  await assertRejects(() => server.receiveMany(new Uint8Array(4)), RangeError, "5 bytes");
  assertEquals((await server.receiveMany(buffer))!.map(text), ["three"]);
  await client.close();
  assertEquals(await server.receiveMany(buffer), null);
});

pairs(two).test(
  "RcConn.receiveMany() gives the credits of all messages back",
  async ({ client, server }) => {
    const words = Array.from({ length: 50 }, (_, i) => `${i}`);
    const sending = (async () => {
      for (const word of words) await client.send(bytes(word));
    })();
    const taken: (string | null)[] = [];
    while (taken.length < words.length) {
      taken.push(...(await server.receiveMany(new Uint8Array(64)))!.map(text));
    }
    assertEquals(taken, words);
    await sending;
  },
);

pair.test("RcConn.borrow() lends messages in order, until they are given back", async ({ client, server }) => {
  await warmUp({ client, server }, 8);
  await sendAll(client, "abc");
  const messages = [await server.borrow(), await server.borrow()];
  assertEquals(text(await server.receive()), "c");
  assertEquals(messages.map((message) => text(message!.bytes)), ["a", "b"]);
  assertEquals(Deno.inspect(messages[0]), "BorrowedMessage { length: 1 }");
  for (const message of messages) {
    message![Symbol.dispose]();
    message!.close();
    assertThrows(() => message!.bytes, TypeError, GIVEN_BACK);
  }
  assertEquals(`${messages[0]}`, "BorrowedMessage { given back }");
  await client.close();
  assertEquals(await server.borrow(), null);
});

pairs(two).test(
  "RcConn.borrow() holds the receives of what is borrowed back",
  async ({ client, server }) => {
    await warmUp({ client, server }, 2);
    let sent = 0;
    const sending = (async () => {
      for (const word of "abcdef") {
        await client.send(bytes(word));
        sent++;
      }
    })();
    const borrowed = [await server.borrow(), await server.borrow()];
    await pause(20);
    assertEquals([sent, server.stats.waiting, server.stats.promised], [2, 2, 0]);
    assertEquals(borrowed.map((message) => text(message!.bytes)), ["a", "b"]);
    // In another order than they came.
    borrowed[1]!.close();
    const next = await server.borrow();
    assertEquals([text(next!.bytes), text(borrowed[0]!.bytes)], ["c", "a"]);
    for (const message of [borrowed[0], next]) message!.close();
    for (const word of "def") assertEquals(text(await server.receive()), word);
    await sending;
  },
);

pairs(two).test(
  "RcConn.borrow() works one message after another, for many",
  async ({ client, server }) => {
    const count = 100;
    const sending = (async () => {
      for (let i = 0; i < count; i++) await client.send(bytes(`${i}`));
    })();
    for (let i = 0; i < count; i++) {
      using message = await server.borrow();
      assertEquals(text(message!.bytes), `${i}`);
    }
    await sending;
  },
);

pairs({ credits: 16, maxMessage: 64, keepAlive: 0 }).test(
  "RcConn goes on while most of its receives are borrowed",
  async ({ client, server }) => {
    const count = 100;
    const sending = (async () => {
      for (let i = 0; i < count; i++) await client.send(bytes(`${i}`));
    })();
    const borrowed = [];
    for (let i = 0; i < count; i++) {
      const message = (await server.borrow())!;
      assertEquals(text(message.bytes), `${i}`);
      borrowed.push(message);
      if (borrowed.length === 14) {
        for (const at of [7, 3, 0]) {
          borrowed.splice(at, 1)[0]!.close();
        }
      }
    }
    await sending;
    for (const message of borrowed) message.close();
  },
);

pairs({ credits: 16, maxMessage: 64, keepAlive: 0 }).test(
  "Messages go on while nobody takes writes that hold most of the receives",
  async ({ client, server }) => {
    await warmUp({ client, server }, 16);
    using memory = await server.expose(8);
    for (let imm = 0; imm < 12; imm++) {
      await client.write(memory.remote, 0, bytes("x"), { immData: imm });
    }
    const words = Array.from({ length: 50 }, (_, i) => `${i}`);
    const sending = (async () => {
      for (const word of words) await client.send(bytes(word));
    })();
    for (const word of words) assertEquals(text(await server.receive()), word);
    await sending;
  },
);

pair.test("What is borrowed outlives the connection as a copy", async ({ client, server }) => {
  await warmUp({ client, server }, 8);
  await sendAll(client, "abc");
  const borrowed = (await server.borrow())!;
  const broken = (await server.borrow())!;
  client[Symbol.dispose]();
  await server.close();
  const late = (await server.borrow())!;
  const all = [borrowed, broken, late];
  assertEquals(all.map(({ bytes }) => text(bytes)), ["a", "b", "c"]);
  for (const message of all) message.close();
  assertThrows(() => borrowed.bytes, TypeError, GIVEN_BACK);
});

test("The memory of what is borrowed is not that of another connection after the end", async () => {
  const options = { ...two, device: RXE, credits: 8 };
  await using listener = await listenRc(options);
  const { port: tcpPort } = listener.addr;
  const connect = async (): Promise<[RcConn, RcConn]> => {
    const client = await connectRc({ ...options, tcpPort });
    return [client, await listener.accept()];
  };
  const [one, first] = await connect();
  const [other, second] = await connect();
  await warmUp({ client: one, server: first }, 8);
  await sendAll(one, "ab");
  const borrowed = [(await first.borrow())!, (await first.borrow())!];
  const views = borrowed.map((message) => message.bytes);
  await one.close();
  await first.close();
  assertEquals(first.stats.memory, 2 * 64);
  await warmUp({ client: other, server: second }, 8);
  // One after the other: of two at once either end may be accepted first.
  const more = await Array.fromAsync({ length: 4 }, connect);
  for (const [client, server] of more) await warmUp({ client, server }, 8);
  assertEquals(views.map(text), ["a", "b"]);
  for (const message of borrowed) message.close();
  assertEquals(first.stats.memory, 0);
  for (const conn of [other, second, ...more.flat()]) await conn.close();
  assertEquals(recorder.live("mr"), 0);
});

pair.test("A program cannot disturb a connection by what it does to a borrowed array", async ({ client, server }) => {
  await warmUp({ client, server }, 8);
  await client.send(bytes("abc"));
  const message = (await server.borrow())!;
  Object.defineProperty(message.bytes, "length", { value: 1 });
  Object.defineProperty(message.bytes, "slice", { value: () => null });
  await server.close();
  assertEquals([text(message.bytes), message instanceof BorrowedMessage], ["abc", true]);
  message.close();
});
