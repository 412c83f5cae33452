// Ping-pongs and measurements, between two sides without a device.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { RECV, SEND, type Side } from "../../peer/endpoint.ts";
import { Meter } from "../../perf/measure.ts";
import { PingPong } from "../../pingpong/ping_pong.ts";
import { CommandError } from "../../shell/command.ts";
import { structs } from "../../../ffi/layout.ts";
import { writeField } from "../../../ffi/struct.ts";
import {
  type CompletionQueue,
  WcStatus,
  WorkCompletionError,
  type WorkCompletionList,
} from "../../../mod.ts";
import { batchCore } from "../../../types/completion/work_completion_list.ts";

const { size, fields } = structs.ibv_wc;

interface Completion {
  readonly wrId: number;
  readonly qpNum: number;
  readonly status?: WcStatus;
}

/** A side whose messages reach its peer at once. Its queue pairs have the numbers from 100 on. */
class FakeSide implements Side {
  readonly queuePairs: number;
  readonly completions: Completion[] = [];
  readonly sent: number[];
  readonly verb = "send";
  readonly message: Uint8Array = new Uint8Array(1);
  readonly incoming: Uint8Array = new Uint8Array(1);
  /** Receives that are posted and not used. */
  receives: number;
  /** The queue pairs that posted receives again. */
  readonly again = new Set<number>();
  peer: FakeSide | undefined;

  constructor(queuePairs: number, receives: number) {
    this.queuePairs = queuePairs;
    this.sent = new Array(queuePairs).fill(0);
    this.receives = receives;
  }

  get cq(): CompletionQueue {
    return { pollInto: (batch: WorkCompletionList) => this.#poll(batch) } as CompletionQueue;
  }

  indexOf(qpNum: number): number {
    return qpNum - 100;
  }

  postSend(index: number): void {
    const qpNum = 100 + index;
    this.sent[index]!++;
    this.completions.push({ wrId: SEND, qpNum });
    assert(this.peer!.receives-- > 0, "the peer has no receive");
    this.peer!.completions.push({ wrId: RECV, qpNum });
  }

  postRecv(count: number, index = 0): void {
    this.receives += count;
    this.again.add(index);
  }

  #poll(batch: WorkCompletionList): number {
    const found = this.completions.splice(0, batch.capacity);
    const { view } = batchCore(batch);
    for (const [i, { wrId, qpNum, status = WcStatus.SUCCESS }] of found.entries()) {
      writeField(view, fields.wr_id, wrId, i * size);
      writeField(view, fields.qp_num, qpNum, i * size);
      writeField(view, fields.status, status, i * size);
    }
    batchCore(batch).polled(found.length);
    return found.length;
  }
}

const DEPTH = 16;

function pairOf(queuePairs = 1, rxDepth = DEPTH): [FakeSide, FakeSide] {
  const [left, right] = [new FakeSide(queuePairs, rxDepth), new FakeSide(queuePairs, rxDepth)];
  [left.peer, right.peer] = [right, left];
  return [left, right];
}

Deno.test("PingPong.sleep() asks for no event while something completes", async () => {
  const [left, right] = pairOf();
  left.postSend(0);
  await new PingPong(right, { iters: 1, rxDepth: 1, timeout: 1 }).sleep();
  assertEquals(right.sent, [1]);
});

for (const [queuePairs, rxDepth] of [[1, 1], [1, 500], [3, 7], [16, 16], [16, 500]] as const) {
  Deno.test(`PingPong sends enough over ${queuePairs} queue pairs with ${rxDepth} receives`, () => {
    const iters = 100;
    const [left, right] = pairOf(queuePairs, rxDepth);
    const length = { iters, rxDepth, timeout: 1 };
    const [client, server] = [new PingPong(left, length), new PingPong(right, length)];
    let firsts = 0;
    server.onFirst = () => firsts++;
    client.start();
    while (client.turn(1) || server.turn(1));
    for (const { sent } of [left, right]) {
      const sum = sent.reduce((a, b) => a + b);
      assert(sum >= iters && sum < iters + queuePairs, `${sum} messages`);
      assert(Math.max(...sent) - Math.min(...sent) <= 1, sent.join());
    }
    assertEquals(firsts, 1);
    // Both have all they need, so neither waits.
    client.poll();
    server.poll();
  });
}

function meterOf(side: Side, timeout = 10, shown: string[] = []): Meter {
  const show = (phase: string, count: number): void => void shown.push(`${phase} ${count}`);
  return new Meter(side, { rxDepth: DEPTH, timeout, show });
}

Deno.test("Meter measures for some time, from each queue pair in turn, and shows its progress", async () => {
  const [left, right] = pairOf(3);
  // Messages one way need no receives here.
  [left.receives, right.receives] = [Infinity, Infinity];
  const shown: string[] = [];
  const [client, server] = [meterOf(left, 10, shown), meterOf(right)];
  const asking = client.ask({ messages: 1e7, ms: 100 });
  const answers = server.answer(asking.then(({ asked }) => asked));
  const { latencies, asked, warmUp } = await asking;
  assertEquals([latencies.length, (await answers).length], [asked - warmUp, asked - 1]);
  const start = performance.now();
  const sending = client.send({ messages: 1e7, ms: 100 }, 4);
  const receiving = server.receive(sending.then(({ sent }) => sent));
  const { sent } = await sending;
  assert(performance.now() - start >= 100 && sent < 1e7, `${sent}`);
  assertEquals((await receiving).received, sent);
  assertEquals(left.sent.map((count) => count > sent / 4), [true, true, true]);
  assertEquals(right.again, new Set([0, 1, 2]));
  assert(["latency", "bandwidth"].every((phase) => shown.some((text) => text.startsWith(phase))));
  assert(shown.every((text) => /^\w+ \d+$/.test(text)), shown.at(-1));
});

Deno.test("Meter.receive() ends when the sender is done, whatever is lost", async () => {
  const [, right] = pairOf();
  right.completions.push({ wrId: RECV, qpNum: 100 });
  const { received } = await meterOf(right).receive(Promise.resolve(5));
  assertEquals(received, 1);
});

Deno.test("Meter and PingPong throw when a request fails", async () => {
  const failed = { wrId: RECV, qpNum: 100, status: WcStatus.REM_OP_ERR };
  const [, right] = pairOf();
  right.completions.push(failed, failed);
  const pingPong = new PingPong(right, { iters: 1, rxDepth: DEPTH, timeout: 1 });
  assertThrows(() => pingPong.poll(), WorkCompletionError, "REM_OP_ERR");
  right.completions.push(failed);
  await assertRejects(
    () => meterOf(right).answer(new Promise(() => {})),
    WorkCompletionError,
    "REM_OP_ERR",
  );
});

Deno.test("Meter gives up when nothing completes", async () => {
  const [, right] = pairOf();
  await assertRejects(
    () => meterOf(right, 0).answer(new Promise(() => {})),
    CommandError,
    "after 0 sent and 0 received messages, nothing completed within 0 s",
  );
});
