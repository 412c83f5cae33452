// Connections that are made, closed or broken at once keep nothing of the program waiting for all of them together.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertGreater, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { CmEventType, CmId } from "../../../cm.ts";
import { type QueuePair, SendRequestList, WrOpcode } from "../../../mod.ts";
import {
  connectRc,
  listenRc,
  listenUd,
  type RcConn,
  type RcOptions,
  type UdConn,
} from "../../../net/mod.ts";
import { Link } from "../../../net/rc/link.ts";
import { type FakeBed, test as testOn } from "../cm/fake.ts";
import { QKEY, RXE, test, until, warmUp } from "./recorder_net.ts";

const COUNT = 12;
/** As long as a turn of the event loop of the library, and longer. */
const MS = 3;
const FEW = { device: RXE, credits: 2, sendDepth: 2, maxMessage: 64, keepAlive: 0 };

/** Asserts that a verb ends so often, and that the event loop turns in between. */
async function assertPaced(
  verb: string,
  count: number,
  body: () => Promise<unknown>,
): Promise<void> {
  const counts: number[] = [];
  let isOver = false;
  const counting = (async () => {
    for (recorder.take(); !isOver; counts.push(recorder.takeOf(verb).length)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  recorder.delay(verb, MS);
  await body();
  isOver = true;
  await counting;
  recorder.delay(verb, 0);
  assertEquals(counts.reduce((sum, one) => sum + one), count);
  // This look comes before others of its turn, or after them.
  assertGreater(3, Math.max(...counts));
}

async function pairsOf(options: RcOptions): Promise<RcConn[]> {
  await using listener = await listenRc(options);
  const { port: tcpPort } = listener.addr;
  const ends = Array.from(
    { length: COUNT },
    () => Promise.all([connectRc({ ...options, tcpPort }), listener.accept()]),
  );
  return (await Promise.all(ends)).flat();
}

function sockets(): Promise<UdConn[]> {
  const few = { recvDepth: 4, sendDepth: 4, maxQueued: 4 };
  return Promise.all(
    Array.from({ length: COUNT }, () => listenUd({ device: RXE, qkey: QKEY, ...few })),
  );
}

const dispose = (one: AsyncDisposable): Promise<void> =>
  Promise.resolve(one[Symbol.asyncDispose]());

for (
  const [what, close] of [
    ["RcConn.close()", (conn: RcConn) => conn.close()],
    ["RcConn[Symbol.asyncDispose]()", dispose],
    [
      "RcConn.close() that waits for nothing",
      (conn: RcConn) => conn.close({ signal: AbortSignal.abort() }),
    ],
  ] as const
) {
  test(`${what} of many lets the event loop turn between them`, async () => {
    const ends = await pairsOf(FEW);
    await assertPaced("ibv_destroy_qp", 2 * COUNT, () => Promise.all(ends.map(close)));
  });
}

test("UdConn[Symbol.asyncDispose]() of many lets the event loop turn between them, and refuses calls at once", async () => {
  const conns = await sockets();
  await assertPaced("ibv_destroy_qp", COUNT, async () => {
    const ending = conns.map(dispose);
    for (const conn of conns) {
      await assertRejects(() => conn.send(new Uint8Array(1), conn.addr), Deno.errors.BadResource);
    }
    await Promise.all(ending);
  });
});

test("listenUd() of many lets the event loop turn between them", async () => {
  let conns: UdConn[] = [];
  await assertPaced("ibv_create_qp", COUNT, async () => void (conns = await sockets()));
  for (const conn of conns) await dispose(conn);
});

test("connectRc() of many lets the event loop turn between them, also when they are given up", async () => {
  const abort = new AbortController();
  const { signal } = abort;
  const exchange = (): Promise<never> => new Promise(() => {});
  let asked: Promise<unknown>[] = [];
  await assertPaced("ibv_create_qp", COUNT, async () => {
    asked = Array.from(
      { length: COUNT },
      () => assertRejects(() => connectRc({ ...FEW, exchange, signal }), Error, "enough"),
    );
    await until("the queue pairs", () => recorder.live("qp") === COUNT);
  });
  await assertPaced("ibv_destroy_qp", COUNT, async () => {
    abort.abort(new Error("enough"));
    await Promise.all(asked);
  });
});

test("RcListener closes connections that nobody has accepted one after the other", async () => {
  await using listener = await listenRc(FEW);
  const { port: tcpPort } = listener.addr;
  const clients = await Promise.all(
    Array.from({ length: COUNT }, () => connectRc({ ...FEW, tcpPort })),
  );
  await until("the connections", () => listener.stats.connected === COUNT);
  await assertPaced("ibv_destroy_qp", COUNT, () => dispose(listener));
  // They were told.
  for (const client of clients) {
    assertEquals(await client.receive(), null);
    await client.close();
  }
});

const CREDITS = 1000;
const CREDIT = 2 << 28;

/** Frames that wait for receives of the peer, and come as soon as there is one. */
function flood(qp: QueuePair, count: number): void {
  const frames = new SendRequestList({ capacity: count });
  const opcode = WrOpcode.SEND_WITH_IMM;
  for (let i = 0; i < count; i++) frames.set(i, { opcode, immData: CREDIT, signaled: false });
  qp.postSend(frames);
}

testOn(
  "A connection that has ended outside of its queue pair reads what has come in portions, and no more",
  async (bed: FakeBed) => {
    bed.connect("IPv4");
    const ids: CmId[] = [];
    const accepted: CmId[] = [];
    const qps: QueuePair[] = [];
    const { disconnected, accept } = CmId.prototype;
    using _ended = stub(
      CmId.prototype,
      "disconnected",
      function (this: CmId, ...args): Promise<void> {
        ids.push(this);
        return disconnected.apply(this, args);
      },
    );
    using _accepted = stub(
      CmId.prototype,
      "accept",
      function (this: CmId, qp, ...args): Promise<void> {
        accepted.push(this);
        qps.push(qp as QueuePair);
        return accept.call(this, qp, ...args);
      },
    );
    const { break: breakOff } = Link.prototype;
    const { promise, resolve } = Promise.withResolvers<void>();
    let breaks = 0;
    using _breaks = stub(
      Link.prototype,
      "break",
      async function (this: Link, reason): Promise<void> {
        if (breaks++ > 0) return await breakOff.call(this, reason);
        // As many as there are receives come now, and others would whenever one is posted.
        flood(qps[0]!, 3 * CREDITS);
        let turns = 0;
        let isOver = false;
        // A timer would miss turns on a busy host.
        const count = (): void => {
          turns++;
          if (!isOver) setImmediate(count);
        };
        count();
        recorder.delay("ibv_poll_cq", 1);
        recorder.take();
        await breakOff.call(this, reason);
        isOver = true;
        recorder.delay("ibv_poll_cq", 0);
        assertEquals(recorder.takeOf("ibv_post_recv"), []);
        assertGreater(turns, 3);
        resolve();
      },
    );
    await using listener = await listenRc({ port: 7471, credits: CREDITS, keepAlive: 0 });
    const connecting = connectRc({ hostname: "host", port: 7471, credits: CREDITS, keepAlive: 0 });
    const [client, server] = await Promise.all([connecting, listener.accept()]);
    // The client has receives for all of them when all were sent and it has read none.
    const message = Uint8Array.of(1);
    await Promise.all(Array.from({ length: CREDITS }, () => server.send(message)));
    for (let i = 0; i < CREDITS; i++) await client.receive();
    // With it the server has read what the client has told of credits.
    await warmUp({ client, server }, 1);
    const received = assertRejects(() => client.receive(), Deno.errors.ConnectionReset);
    // The queue pair goes on.
    const ofClient = ids.find((id) => !accepted.includes(id))!;
    bed.net.push(ofClient, CmEventType.UNREACHABLE, -110);
    await promise;
    await received;
    for (const conn of [client, server]) await conn.close();
  },
);
