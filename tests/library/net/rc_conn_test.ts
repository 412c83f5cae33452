import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { nonblocking } from "../../../ffi/library.ts";
import {
  CompletionQueue,
  QueuePair,
  SendFlags,
  VerbsError,
  WorkCompletionError,
  WrOpcode,
} from "../../../mod.ts";
import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcConn,
  type RemoteMemory,
} from "../../../net/mod.ts";
import { nextTurn } from "../../../wait/turns.ts";
import {
  bytes,
  pair,
  pairs,
  pause,
  peerAddress,
  rcPair,
  RXE,
  test,
  text,
  until,
  warmUp,
} from "./recorder_net.ts";

const quiet = pairs({ keepAlive: 0 });
/** A message of each end, and no more, until the other one reads. */
const tight = pairs({ credits: 1, keepAlive: 0 });

const { BadResource, ConnectionReset } = Deno.errors;
const CLOSED = "Cannot use connection: it is closed";

pair.test("RcConn.send() and receive() exchange messages of any length in order", async ({ client, server }) => {
  const lengths = [0, 1, 1000, 4096, client.maxMessage];
  for (const length of lengths) {
    assertEquals(await client.send(new Uint8Array(length).fill(length)), length);
  }
  for (const length of lengths) {
    assertEquals(await server.receive(), new Uint8Array(length).fill(length));
  }
  const buffer = new Uint8Array(8);
  await server.send(bytes("back"));
  const message = await client.receive(buffer);
  assertEquals([text(message), message!.buffer === buffer.buffer], ["back", true]);
});

pair.test("RcConn.receive() keeps a message that does not fit the buffer", async ({ client, server }) => {
  await client.send(bytes("long message"));
  await assertRejects(() => server.receive(new Uint8Array(4)), RangeError, "12 bytes");
  assertEquals(text(await server.receive()), "long message");
});

for (const credits of [1, 2, 3]) {
  const few = pairs({ credits, sendDepth: 2, maxMessage: 64, keepAlive: 0 });

  few.test(`RcConn delivers many messages both ways with ${credits} credits`, async (pair) => {
    const count = 300;
    await Promise.all([pair.client, pair.server].flatMap((conn) => [
      (async () => {
        for (let i = 0; i < count; i++) await conn.send(bytes(String(i)));
      })(),
      (async () => {
        for (let i = 0; i < count; i++) assertEquals(text(await conn.receive()), String(i));
      })(),
    ]));
  });

  few.test(`RcConn.write() waits while the peer takes no writes, with ${credits} credits`, async ({ client, server }) => {
    using memory = await server.expose(100);
    const data = new Uint8Array(100).fill(7);
    const sent: number[] = [];
    const sending = Promise.all(
      Array.from({ length: 50 }, async (_, imm) => {
        await client.write(memory.remote, 0, data, { immData: imm });
        sent.push(imm);
      }),
    );
    await until("the credits", () => sent.length === credits);
    // What needs no credit goes on.
    assertEquals(await client.read(memory.remote, 0, 100), data);
    assertEquals(sent.length, credits);
    const signal = AbortSignal.timeout(10);
    const late = client.write(memory.remote, 0, data, { immData: 9, signal });
    await assertRejects(() => late, DOMException);
    const taken: number[] = [];
    for await (const imm of server.writes()) if (taken.push(imm) === 50) break;
    await sending;
    assertEquals(taken, [...taken.keys()]);
    // A call may end a turn later than one after it.
    assertEquals(sent.toSorted((a, b) => a - b), taken);
    await client.send(bytes("and a message"));
    assertEquals(text(await server.receive()), "and a message");
  });
}

tight.test("RcConn.send() waits while the peer does not receive", async ({ client, server }) => {
  let sent = 0;
  const sending = Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      await client.send(bytes(String(i)));
      sent++;
    }),
  );
  await until("a message", () => sent === 1);
  await pause(50);
  assertEquals(sent, 1);
  const signal = AbortSignal.timeout(10);
  await assertRejects(() => client.send(bytes("x"), { signal }), DOMException);
  for (let i = 0; i < 10; i++) assertEquals(text(await server.receive()), String(i));
  await sending;
});

test("RcConn.close() lets the peer read what was sent, and then null", async () => {
  // Each message that is read makes new credits due, which a peer that has left must not get.
  await using pair = await rcPair({ credits: 2 });
  const { client, server } = pair;
  for (const word of ["a", "b"]) await client.send(bytes(word));
  await client.close();
  await client.close();
  assertEquals(text(await server.receive()), "a");
  assertEquals(text(await server.receive()), "b");
  assertEquals(await server.receive(), null);
  assertEquals(await server.receive(), null);
  await assertRejects(() => server.send(bytes("c")), ConnectionReset, "the peer has closed");
});

test("RcConn gives what was received after close(), and then tells that it is closed", async () => {
  const words = ["a", "b", "c", "d"];
  const endings: Record<string, (conn: RcConn) => unknown> = {
    "close()": (conn) => conn.close(),
    "close() while it ends": (conn) => void conn.close(),
    "dispose": (conn) => conn[Symbol.dispose](),
  };
  for (const [title, end] of Object.entries(endings)) {
    for (const read of [0, 1]) {
      await using pair = await rcPair({ credits: words.length });
      const { client, server } = pair;
      for (const word of words) await client.send(bytes(word));
      await client.flush();
      const seen: (string | null)[] = [];
      for (let i = 0; i < read; i++) seen.push(text(await server.receive()));
      await end(server);
      assertEquals(await Array.fromAsync(server), []);
      while (seen.length < words.length) seen.push(text(await server.receive()));
      assertEquals({ title, seen }, { title, seen: words });
      await assertRejects(() => server.receive(), BadResource, CLOSED);
    }
  }
});

pair.test("RcConn refuses every call from the moment it is being closed", async ({ client, server }) => {
  const writer = client.writable.getWriter();
  const { remote } = await server.expose(8);
  const calls = [
    () => client.receive(),
    () => client.send(bytes("x")),
    () => client.flush(),
    () => client.expose(8),
    () => client.write(remote, 0, bytes("x")),
    () => client.read(remote, 0, 1),
    () => client.fetchAndAdd(remote, 0, 1n),
    () => client.compareAndSwap(remote, 0, 0n, 1n),
    () => client.write(remote, 0, bytes("x"), { immData: 1 }),
  ];
  const assertRefused = (call: () => Promise<unknown>): Promise<unknown> =>
    assertRejects(call, BadResource, CLOSED);
  const closing = client.close();
  recorder.take();
  await Promise.all([...calls, () => writer.close()].map(assertRefused));
  await closing;
  for (const call of calls) await assertRefused(call);
  assertEquals(recorder.takeOf("ibv_post_send", "ibv_reg_mr_iova2"), []);
});

test("RcConn.close() frees all that the connection has, while others use the device", async () => {
  await using listener = await listenRc({ device: RXE });
  const connect = () =>
    Promise.all([connectRc({ device: RXE, tcpPort: listener.addr.port }), listener.accept()]);
  const [ends, others] = [await connect(), await connect()];
  await ends[1].expose(8);
  recorder.delay("ibv_reg_mr_iova2", 20);
  for (const end of ends) {
    recorder.take();
    const late = assertRejects(() => end.expose(8), BadResource, "connection: it is closed");
    await end.close();
    await late;
  }
  // The device is not closed: it is that of the other end that was accepted.
  const destroyed = recorder.take().map(({ verb }) => verb).filter((verb) => /_de/.test(verb));
  assertEquals(destroyed.toSorted(), [
    ...Array(2).fill("ibv_dereg_mr"),
    "ibv_destroy_qp",
  ]);
  for (const end of others) await end.close();
});

test("RcConn.send() and receive() keep the order of calls that are begun together", async () => {
  await using pair = await rcPair({ credits: 512, sendDepth: 256, maxMessage: 64 });
  const { client, server } = pair;
  const words = Array.from({ length: 200 }, (_, i) => String(i));
  await Promise.all(words.map((word) => client.send(bytes(word))));
  assertEquals((await Promise.all(words.map(() => server.receive()))).map(text), words);
});

for (const [mine, theirs] of [[100, 200], [200, 100]] as const) {
  test(`RcConn.maxMessage is 100 between ends with ${mine} and ${theirs}`, async () => {
    await using pair = await rcPair({ maxMessage: mine }, { maxMessage: theirs });
    assertEquals([pair.client.maxMessage, pair.server.maxMessage], [100, 100]);
    const message = "the message has 101 bytes, and maxMessage is 100";
    await assertRejects(() => pair.client.send(new Uint8Array(101)), RangeError, message);
  });
}

test("RcConn.close() that fails can be called again", async () => {
  const device = [
    "ibv_destroy_cq",
    "ibv_destroy_comp_channel",
    "ibv_dealloc_pd",
    "ibv_close_device",
  ];
  for (const verb of ["ibv_destroy_qp", ...device]) {
    const { client, server } = await rcPair();
    await server.close();
    recorder.fail(verb, "EBUSY", { times: 1 });
    await assertRejects(() => client.close(), VerbsError, "EBUSY", verb);
    for (let i = 0; i < 2; i++) await client.close();
    assertEquals([verb, recorder.live()], [verb, 0]);
  }
});

test("RcConn.close() ends when the peer leaves while it waits for its device", async () => {
  const { client, server } = await rcPair({ keepAlive: 0 });
  const lost = client.peer.qpNum;
  {
    const { postSend } = QueuePair.prototype;
    // The network loses what the server sends, so that it is not acknowledged.
    const sendOrLose = function (this: QueuePair, ...args: unknown[]): void {
      if (this.qpNum !== lost) postSend.apply(this, args as never);
    };
    using _ = stub(QueuePair.prototype, "postSend", sendOrLose as never);
    const closing = server.close();
    await client.close();
    await closing;
  }
});

test("RcConn shares the device of others after one that is closed is ended again", async () => {
  const first = await rcPair();
  for (const conn of [first.client, first.server]) await conn.close();
  await using _second = await rcPair();
  first.client[Symbol.dispose]();
  recorder.take();
  await using _third = await rcPair();
  // That of the listener.
  assertEquals(recorder.takeOf("ibv_create_cq", "ibv_create_cq_ex").length, 1);
});

tight.test("RcConn.close() ends the calls that wait", async ({ client, server }) => {
  await client.send(bytes("1"));
  const waiting = [client.receive(), client.send(bytes("2"))].map((call) =>
    assertRejects(() => call as Promise<unknown>, BadResource)
  );
  const iterated = Array.fromAsync(client);
  await client.close();
  await Promise.all(waiting);
  assertEquals(await iterated, []);
  assertEquals((await Array.fromAsync(server)).map(text), ["1"]);
});

test("RcConn[Symbol.dispose]() ends at once, and the peer notices it", async () => {
  await using pair = await rcPair({ ackTimeout: 14, keepAlive: 50 });
  const { client, server } = pair;
  await client.send(bytes("last"));
  await client.flush();
  client[Symbol.dispose]();
  assertEquals(text(await server.receive()), "last");
  const error = await assertRejects(() => server.receive(), ConnectionReset);
  assertEquals((error.cause as WorkCompletionError).code, "RETRY_EXC_ERR");
  await assertRejects(() => server.send(bytes("x")), ConnectionReset);
});

test("RcConn checks an idle peer by empty writes, of which one in 16 has a completion", async () => {
  await using _pair = await rcPair({ keepAlive: 2 }, { keepAlive: 0 });
  const signaled: boolean[] = [];
  await until("20 checks", () => {
    for (const { args } of recorder.takeOf("ibv_post_send")) {
      // The log leaves out what is 0.
      const { opcode = 0, send_flags = 0 } = (args["wr[0]"] as RecordedStruct).fields;
      if (opcode === WrOpcode.RDMA_WRITE) signaled.push(send_flags === SendFlags.SIGNALED);
    }
    return signaled.length >= 20;
  });
  assertEquals(signaled.slice(0, 20), Array.from({ length: 20 }, (_, i) => i === 15));
});

pair.test("RcConn.write() and read() refuse a buffer that code of the caller has transferred", async ({ client, server }) => {
  const { remote } = await server.expose(8);
  for (const imm of [undefined, 7]) {
    const data = new Uint8Array(8);
    const options = {
      get immData(): number | undefined {
        data.buffer.transfer();
        return imm;
      },
    };
    const written = client.write(remote, 0, data, options as { immData: number });
    await assertRejects(() => written, TypeError, "Cannot use data: its buffer is detached");
  }
  const buffer = new Uint8Array(8);
  const options = {
    get signal(): undefined {
      return void buffer.buffer.transfer();
    },
  };
  const read = client.read(remote, 0, buffer, options);
  await assertRejects(() => read, TypeError, "Cannot use buffer: its buffer is detached");
});

pair.test("RcConn names the numbers of atomics as its own arguments", async ({ client, server }) => {
  const [{ remote }, wrong] = [await server.expose(8), "5" as never];
  const calls = {
    add: () => client.fetchAndAdd(remote, 0, wrong),
    compare: () => client.compareAndSwap(remote, 0, wrong, 1n),
    swap: () => client.compareAndSwap(remote, 0, 1n, wrong),
  };
  for (const [name, call] of Object.entries(calls)) {
    await assertRejects(
      call,
      TypeError,
      `Cannot use ${name} "5": it is not a bigint or an integer; BigInt() makes one of a text`,
    );
  }
});

test("RcConn writes, reads and does atomics in memory of the peer", async () => {
  await using pair = await rcPair({ maxMessage: 1000 });
  const { client, server } = pair;
  using memory = await server.expose(10_000);
  const remote: RemoteMemory = JSON.parse(JSON.stringify(memory.remote));
  const data = crypto.getRandomValues(new Uint8Array(9000));
  await client.write(remote, 16, data);
  assertEquals(memory.bytes.slice(16, 9016), data);
  assertEquals(await client.read(remote, 16, 9000), data);
  const buffer = new Uint8Array(500);
  assertEquals(await client.read(remote, 116, buffer), data.slice(100, 600));
  const results = await Promise.all([1n, 2, 3n].map((add) => client.fetchAndAdd(remote, 0, add)));
  assertEquals(results, [0n, 1n, 3n]);
  assertEquals(await client.compareAndSwap(remote, 0, 5n, 9n), 6n);
  assertEquals(await client.compareAndSwap(remote, 0, 6n, 2n ** 64n - 1n), 6n);
  assertEquals(await client.fetchAndAdd(remote, 0, 2n), 2n ** 64n - 1n);
  assertEquals(
    new DataView(memory.bytes.buffer, memory.bytes.byteOffset).getBigUint64(0, true),
    1n,
  );
  // The messages still work.
  await client.send(bytes("done"));
  assertEquals(text(await server.receive()), "done");
});

test("RcConn.write() tells the peer of all bytes of a write that has a number", async () => {
  await using pair = await rcPair({ maxMessage: 1000 });
  const { client, server } = pair;
  using memory = await server.expose(10_000);
  const { remote } = memory;
  const data = crypto.getRandomValues(new Uint8Array(9000));
  await client.write(remote, 0, data);
  await client.write(remote, 1000, data, { immData: 0xffff_ffff });
  await client.write(remote, 10_000, new Uint8Array(0), { immData: 0 });
  await client.send(bytes("a message"));
  await client.writable.close();
  await assertRejects(() => client.write(remote, 0, data, { immData: 1 }), BadResource, "was sent");
  const writes = server.writes();
  assertEquals(await writes.next(), { value: 0xffff_ffff, done: false });
  assertEquals(memory.bytes.slice(1000), data);
  assertEquals(await Array.fromAsync(writes), [0]);
  assertEquals((await Array.fromAsync(server)).map(text), ["a message"]);
});

test("RcConn.write() overwrites no slot that the peer reads, if it has one more than credits", async () => {
  const [size, credits] = [64, 4];
  const slots = credits + 1;
  await using pair = await rcPair({ credits, maxMessage: size, keepAlive: 0 });
  const { client, server } = pair;
  using memory = await server.expose(slots * size);
  const numbers = Array.from({ length: 30 }, (_, i) => i);
  const writing = Promise.all(numbers.map((imm) => {
    const data = new Uint8Array(size).fill(imm);
    return client.write(memory.remote, imm % slots * size, data, { immData: imm });
  }));
  const writes = server.writes();
  for (const imm of numbers) {
    assertEquals((await writes.next()).value, imm);
    const start = imm % slots * size;
    for (let turn = 0; turn < 5; turn++) {
      await nextTurn();
      assertEquals(memory.bytes.slice(start, start + size), new Uint8Array(size).fill(imm));
    }
  }
  await writing;
});

pair.test("RcConn.writes() gives what has arrived after close(), and ends with its signal", async ({ client, server }) => {
  using memory = await server.expose(8);
  const abort = new AbortController();
  const waiting = [
    assertRejects(() => server.writes({ signal: abort.signal }).next(), Error, "enough"),
    server.writes().next(),
  ];
  abort.abort(new Error("enough"));
  for (const imm of [1, 2, 3]) {
    await client.write(memory.remote, 0, new Uint8Array(8), { immData: imm });
  }
  await waiting[0];
  assertEquals(await waiting[1], { value: 1, done: false });
  const closing = server.close();
  assertEquals(await Array.fromAsync(server.writes()), [2, 3]);
  await closing;
  assertEquals(await Array.fromAsync(server.writes()), []);
  await assertRejects(
    () => Array.fromAsync(client.writes()).then(() => client.send(bytes("x"))),
    ConnectionReset,
  );
});

pair.test("RcConn.read() rejects if its buffer is transferred meanwhile, and nothing else does", async ({ client, server }) => {
  using memory = await server.expose(64);
  const buffer = new Uint8Array(8);
  const read = client.read(memory.remote, 0, buffer);
  buffer.buffer.transfer();
  await assertRejects(() => read, TypeError, "detached");
  await client.send(bytes("done"));
  assertEquals(text(await server.receive()), "done");
});

pair.test("RcConn.write() rejects and breaks the connection if the peer does not allow it", async ({ client, server }) => {
  const memory = await server.expose(64);
  memory[Symbol.dispose]();
  assertThrows(() => memory.bytes, TypeError);
  const error = await assertRejects(
    () => client.write(memory.remote, 0, new Uint8Array(8)),
    WorkCompletionError,
  );
  assertEquals(error.code, "REM_ACCESS_ERR");
  await assertRejects(() => client.send(bytes("x")), ConnectionReset, "REM_ACCESS_ERR");
  const words = "The error of the peer has the cause: the device may have refused its request";
  await assertRejects(() => server.receive(), ConnectionReset, words);
});

test("RcConn.writable waits for a slow reader", async () => {
  await using pair = await rcPair({ credits: 2, maxMessage: 1024, keepAlive: 0 });
  const writer = pair.client.writable.getWriter();
  let written = 0;
  const writing = (async () => {
    for (let i = 0; i < 20; i++) {
      await writer.write(new Uint8Array(1024).fill(i));
      written++;
    }
    await writer.close();
  })();
  await until("two chunks", () => written === 2);
  await pause(50);
  assertEquals(written, 2);
  let seen = 0;
  for await (const chunk of pair.server.readable) {
    assertEquals(chunk[0], seen);
    seen++;
    await pause(2);
    if (written > seen + 3) throw new Error("the writer does not wait");
  }
  await writing;
  assertEquals(seen, 20);
});

tight.test("RcConn.writable ends one direction only", async ({ client, server }) => {
  await client.send(bytes("last"));
  recorder.take();
  await client.writable.close();
  // The receive of the end is posted again when it was read.
  await until("the end", () => recorder.takeOf("ibv_post_recv").length > 0);
  recorder.take();
  assertEquals(text(await server.receive()), "last");
  assertEquals(recorder.takeOf("ibv_post_send"), [], "credits for a peer that sends no more");
  assertEquals(await server.receive(), null);
  await server.send(bytes("still"));
  assertEquals(await client.receive(), bytes("still"));
  await assertRejects(
    () => client.send(bytes("x")),
    Deno.errors.BadResource,
    "end of the messages",
  );
});

tight.test("RcConn ends its messages after those that wait, and does not keep writes waiting", async ({ client, server }) => {
  const memory = await server.expose(1);
  const sending = ["a", "b"].map((word) => client.send(bytes(word)));
  const ending = client.writable.close();
  await client.write(memory.remote, 0, bytes("c"));
  assertEquals(text(memory.bytes), "c");
  assertEquals((await Array.fromAsync(server)).map(text), ["a", "b"]);
  await Promise.all([...sending, ending]);
});

tight.test("RcConn ends its messages when those before have given up", async ({ client, server }) => {
  await client.send(bytes("a"));
  const abort = new AbortController();
  const waiting = client.send(bytes("b"), { signal: abort.signal });
  const ending = client.writable.close();
  await pause(5);
  abort.abort();
  await assertRejects(() => waiting, DOMException);
  await ending;
  assertEquals((await Array.fromAsync(server)).map(text), ["a"]);
});

pair.test("RcConn.writable.abort() closes the connection", async ({ client }) => {
  await client.writable.abort();
  await assertRejects(() => client.send(bytes("x")), BadResource);
});

quiet.test("RcConn greets once from each end", () => {
  assertEquals(recorder.takeOf("ibv_post_send").length, 2);
  return Promise.resolve();
});

test("RcConn.send() posts at once when a poll makes room", async () => {
  await using pair = await rcPair({ sendDepth: 1, keepAlive: 0 });
  await warmUp(pair, 8);
  await pair.client.send(bytes("first"));
  await pause(0);
  recorder.take();
  const sent = [pair.client.send(bytes("a")), pair.client.send(bytes("b"))];
  assertEquals(recorder.takeOf("ibv_post_send").length, 2);
  await Promise.all(sent);
});

test("RcConn.receive() gives all that has come although a receive is refused meanwhile", async () => {
  await using pair = await rcPair({ keepAlive: 0 }, { keepAlive: 0 });
  const { client, server } = pair;
  // They grow the number of its receives.
  for (let i = 0; i < 40; i++) {
    await client.send(bytes("x"));
    await server.receive();
  }
  const words = Array.from({ length: 12 }, (_, i) => `word ${i}`);
  for (const word of words) await client.send(bytes(word));
  await until("all have come", () => server.stats.waiting === words.length);
  recorder.fail("ibv_post_recv", "ENOMEM", { times: 1 });
  const seen: (string | null)[] = [];
  for (const _ of words) seen.push(text(await server.receive()));
  assertEquals(seen, words);
  assertEquals((await server.closed).reason, "broken");
});

test("RcConn is broken when its check of the peer cannot be posted", async () => {
  await using pair = await rcPair({ keepAlive: 10 }, { keepAlive: 0 });
  const received = pair.client.receive();
  recorder.fail("ibv_post_send", "EIO", { times: 1 });
  await assertRejects(() => received, Error, "ibv_post_send");
});

quiet.test("RcConn.flush() waits until all that was sent has completed", async ({ client }) => {
  const late = stub(CompletionQueue.prototype, "pollInto", () => 0);
  await client.send(bytes("x"));
  let isOver = false;
  const flushing = client.flush().then(() => isOver = true);
  await pause(1);
  assertEquals(isOver, false);
  late.restore();
  await client.flush();
  await flushing;
});

test("connectRc() does not wait for the address of the peer when the signal aborts", async () => {
  const abort = new AbortController();
  const modify = nonblocking().ibv_modify_qp;
  using _resolving = stub(nonblocking(), "ibv_modify_qp", (...args) => {
    const modified = modify(...args);
    abort.abort(new Error("enough"));
    return modified;
  });
  const exchange = (): Promise<RcAddress> => Promise.resolve(peerAddress());
  recorder.take();
  const options = { device: RXE, exchange, signal: abort.signal };
  await assertRejects(() => connectRc(options), Error, "enough");
  // It does not go on to RTS.
  assertEquals(recorder.takeOf("ibv_modify_qp").length <= 2, true);
  // The native call goes on, and keeps the device.
  await until("its end", () => recorder.live() === 0);
});
