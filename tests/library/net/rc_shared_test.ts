// What the connections of a listener, or of a program, share: and that each of them notices nothing of the others.
import * as recorder from "../../provider/recorder.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import { spy, stub } from "@std/testing/mock";
import {
  CompletionQueue,
  QueuePair,
  WcOpcode,
  WcStatus,
  type WorkCompletionList,
} from "../../../mod.ts";
import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcConn,
  type RcOptions,
} from "../../../net/mod.ts";
import { clock } from "../../../wait/clock.ts";
import { nextTurn } from "../../../wait/turns.ts";
import { bytes, pause, peerAddress, RXE, test, text, until } from "./recorder_net.ts";

interface Pair {
  readonly client: RcConn;
  readonly server: RcConn;
}

/** Makes connections to one listener, which is closed when they are made. */
async function pairsOf(count: number, options: RcOptions = {}): Promise<Pair[]> {
  const all = { device: RXE, keepAlive: 0, maxMessage: 64, ...options };
  await using listener = await listenRc(all);
  const pairs: Pair[] = [];
  for (let i = 0; i < count; i++) {
    const connecting = connectRc({ ...all, tcpPort: listener.addr.port });
    const [client, server] = await Promise.all([connecting, listener.accept()]);
    pairs.push({ client, server });
  }
  return pairs;
}

async function closeAll(pairs: readonly Pair[]): Promise<void> {
  for (const { client, server } of pairs) {
    await client.close();
    await server.close();
  }
}

async function assertWorks({ client, server }: Pair, word: string): Promise<void> {
  await client.send(bytes(word));
  assertEquals(text(await server.receive()), word);
  await server.send(bytes(`${word} back`));
  assertEquals(text(await client.receive()), `${word} back`);
}

/** A queue of 4 connections, one of 8, one of 16, on each side. */
const [MANY, QUEUES] = [20, 6];

test("RcConn gets its own messages where many connections share queues", async () => {
  const pairs = await pairsOf(MANY);
  assertEquals(["qp", "cq", "context"].map((kind) => recorder.live(kind)), [2 * MANY, QUEUES, 1]);
  const receiving = pairs.map(async ({ server }) => {
    const words: string[] = [];
    for await (const message of server) words.push(text(message)!);
    return words;
  });
  for (const round of [1, 2, 3]) {
    await Promise.all(pairs.map(({ client }, i) => client.send(bytes(`${i} ${round}`))));
  }
  await closeAll(pairs.map(({ client }) => ({ client, server: client })));
  const expected = pairs.map((_, i) => [1, 2, 3].map((round) => `${i} ${round}`));
  assertEquals(await Promise.all(receiving), expected);
  await closeAll(pairs);
});

test("RcConn goes on with all that has come for it before many others do", async () => {
  const pairs = await pairsOf(4);
  // They begin with a credit for one message.
  for (const pair of pairs) for (const word of ["a", "b", "c"]) await assertWorks(pair, word);
  // On a busy host a turn of the event loop may end earlier.
  using _clock = stub(clock, "now", () => 0);
  // Not in this turn, which has begun at a time of the system's clock.
  await nextTurn();
  const order: number[] = [];
  const reading = pairs.map(async ({ server }, i) => {
    for await (const _ of server) order.push(i);
  });
  await pause(1);
  for (const _ of [1, 2, 3]) for (const { client } of pairs) void client.send(bytes("x"));
  await until("all messages are read", () => order.length === 12);
  assertEquals(pairs.map(({ client }) => client.stats.sent), [6, 6, 6, 6]);
  const parts = [order.slice(0, 6), order.slice(6), order.slice(0, 2)];
  assertEquals(parts.map((part) => new Set(part).size), [2, 2, 2]);
  await closeAll(pairs);
  await Promise.all(reading);
});

/** Refuses a receive of the servers, after as many others. Receives of the clients come between them at any time. */
function refuseReceive(pairs: readonly Pair[], skip: number): Disposable {
  const servers = new Set(pairs.map(({ client }) => client.peer.qpNum));
  const { postRecv } = QueuePair.prototype;
  let left = skip;
  return stub(QueuePair.prototype, "postRecv", function (this: QueuePair, ...args): void {
    if (servers.has(this.qpNum) && left-- === 0) {
      recorder.fail("ibv_post_recv", "EIO", { times: 1 });
    }
    postRecv.apply(this, args);
  });
}

// With its first message a connection posts one more receive. Two go on at once, the others in later turns.
for (const skip of [0, 1, 2, 3]) {
  test(`RcConn whose receive is refused after ${skip} others have gone on breaks alone`, async () => {
    const pairs = await pairsOf(4);
    let broken = 0;
    for (const { server } of pairs) void server.closed.then(() => broken++);
    const received = Promise.allSettled(pairs.map(async ({ server }) => {
      for (let i = 0; i < 2; i++) await server.receive();
    }));
    await pause(1);
    using _refused = refuseReceive(pairs, skip);
    await Promise.all(pairs.map(({ client }) => client.send(bytes("x"))));
    await until("one has broken", () => broken > 0);
    for (const { client } of pairs) client.send(bytes("y")).catch(() => {});
    const outcomes = (await received).map(({ status }) => status);
    assertEquals(outcomes.filter((status) => status === "rejected").length, 1);
    await closeAll(pairs);
  });
}

test("RcConn that breaks does not harm those that share its queue", async () => {
  const pairs = await pairsOf(3);
  const [broken, ...others] = pairs as [Pair, ...Pair[]];
  const waiting = others.map(({ server }) => server.receive());
  const memory = await broken.server.expose(64);
  memory.close();
  await assertRejects(() => broken.client.write(memory.remote, 0, bytes("x")));
  await assertRejects(() => broken.server.receive(), Deno.errors.ConnectionReset);
  for (const [i, { client }] of others.entries()) await client.send(bytes(`${i}`));
  assertEquals((await Promise.all(waiting)).map(text), ["0", "1"]);
  for (const pair of others) await assertWorks(pair, "on");
  await closeAll(pairs);
});

for (
  const [how, close] of [
    ["close()", (conn: RcConn) => conn.close()],
    ["dispose", (conn: RcConn) => Promise.resolve(conn[Symbol.dispose]())],
  ] as const
) {
  test(`RcConn leaves no completions behind that another one would get, with ${how}`, async () => {
    const pairs = await pairsOf(2);
    const [first, second] = pairs as [Pair, Pair];
    const received = second.server.receive();
    await first.client.send(bytes("not read"));
    const left = { qp_num: first.client.peer.qpNum, opcode: WcOpcode.RECV, byte_len: 8 };
    using polls = spy(CompletionQueue.prototype, "pollInto");
    const closing = close(first.server);
    for (let i = 0; i < 3; i++) recorder.complete("cq0", left);
    await closing;
    assertEquals(polls.calls.at(-1)!.returned, 0);
    // Its number is that of no queue pair now.
    recorder.complete("cq0", { ...left, status: WcStatus.WR_FLUSH_ERR });
    await second.client.send(bytes("to the other one"));
    assertEquals(text(await received), "to the other one");
    await closeAll(pairs);
  });
}

test("RcConn works on when its listener is closed, and others of the listener are", async () => {
  const pairs = await pairsOf(4);
  for (const pair of pairs) {
    await assertWorks(pair, "without a listener");
    await closeAll([pair]);
  }
  assertEquals(recorder.live(), 0);
});

test("RcConn that reads for the last time keeps what it was waiting for of others", async () => {
  const pairs = await pairsOf(3);
  for (const { client } of pairs) await client.send(bytes("there"));
  pairs[0]!.server[Symbol.dispose]();
  for (const { server } of pairs.slice(1)) assertEquals(text(await server.receive()), "there");
  await closeAll(pairs);
});

/** The most polls in vain of the queue of an end between a message to it and what the end sends next. */
class VainPolls implements Disposable {
  most = 0;
  /** How many messages were answered. */
  answers = 0;
  /** The queue that has given a message which is not answered, and the polls in vain since then. */
  #cq: CompletionQueue | undefined;
  #count = 0;
  readonly #stubs: readonly Disposable[];

  constructor(qpNum: number) {
    const { pollInto } = CompletionQueue.prototype;
    const { postSend } = QueuePair.prototype;
    const isMessage = (batch: WorkCompletionList, i: number): boolean =>
      batch.qpNum(i) === qpNum && batch.opcode(i) === WcOpcode.RECV;
    const polled = (cq: CompletionQueue, batch: WorkCompletionList, count: number): number => {
      const hasMessage = Array.from({ length: count }, (_, i) => isMessage(batch, i)).some(Boolean);
      if (hasMessage) [this.#cq, this.#count] = [cq, 0];
      else if (count === 0 && cq === this.#cq) this.#count++;
      return count;
    };
    const answered = (): void => {
      if (this.#cq === undefined) return;
      this.#cq = undefined;
      this.answers++;
      this.most = Math.max(this.most, this.#count);
    };
    this.#stubs = [
      stub(CompletionQueue.prototype, "pollInto", function (this: CompletionQueue, batch): number {
        return polled(this, batch, pollInto.call(this, batch));
      }),
      stub(QueuePair.prototype, "postSend", function (this: QueuePair, ...args): void {
        if (this.qpNum === qpNum) answered();
        postSend.apply(this, args);
      }),
    ];
  }

  [Symbol.dispose](): void {
    for (const one of this.#stubs) one[Symbol.dispose]();
  }
}

test("RcConn answers before its queue is polled in vain for another one that waits", async () => {
  const pairs = await pairsOf(2, { spinMicroseconds: 1000 });
  const [busy] = pairs as [Pair, ...Pair[]];
  const echoing = pairs.map(async ({ server }) => {
    for await (const message of server) await server.send(message);
  });
  using polls = new VainPolls(busy.client.peer.qpNum);
  for (let round = 0; round < 5; round++) {
    // The client sleeps, so that the message is found by what waits for both.
    await pause(5);
    await busy.client.send(bytes("call"));
    await pause(5);
    assertEquals(text(await busy.client.receive()), "call");
  }
  assertEquals(polls.answers, 5);
  assertGreater(10, polls.most);
  for (const { client } of pairs) await client.close();
  await Promise.all(echoing);
  await closeAll(pairs);
});

/** Where the receives that were posted since the last look put their bytes. */
function places(): Set<unknown> {
  return new Set(
    recorder.takeOf("ibv_post_recv").map(({ args }) =>
      (args["wr[0].sg_list"] as RecordedStruct).fields.addr
    ),
  );
}

test("connectRc() that has ended leaves no memory to others as long as its queue pair may use it", async () => {
  // It keeps the device open.
  const pairs = await pairsOf(1);
  const abort = new AbortController();
  // The next change of its state is on another thread. It outlasts the rest of the test on any host.
  const exchange = (): Promise<RcAddress> => {
    recorder.delay("ibv_modify_qp", 2000);
    return Promise.resolve(peerAddress());
  };
  const options = { device: RXE, keepAlive: 0, maxMessage: 64, exchange };
  recorder.take();
  const given = assertRejects(
    () => connectRc({ ...options, signal: abort.signal }),
    Error,
    "enough",
  );
  await until("the change of its state", () => recorder.delayed() === 1);
  recorder.delay("ibv_modify_qp", 0);
  const first = places();
  abort.abort(new Error("enough"));
  await given;
  const second = new AbortController();
  const waiting = assertRejects(
    () => connectRc({ ...options, exchange: () => new Promise(() => {}), signal: second.signal }),
    Error,
    "enough",
  );
  await until("another queue pair", () => recorder.live("qp") === 4);
  assertEquals(first.intersection(places()).size, 0);
  assertEquals(recorder.delayed(), 1);
  second.abort(new Error("enough"));
  await waiting;
  await until("their end", () => recorder.live("qp") === 2);
  await closeAll(pairs);
});

test("RcListener connects again when its connections are closed, and the program still uses the device", async () => {
  const all = { device: RXE, keepAlive: 0, maxMessage: 64 };
  await using listener = await listenRc(all);
  const connect = async (): Promise<Pair> => {
    const connecting = connectRc({ ...all, tcpPort: listener.addr.port });
    const [client, server] = await Promise.all([connecting, listener.accept()]);
    return { client, server };
  };
  const first = await connect();
  first.server[Symbol.dispose]();
  const second = await connect();
  await assertWorks(second, "again");
  await closeAll([first, second]);
});
