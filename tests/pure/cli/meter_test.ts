// The phases of a measurement, between two sides without a device.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CommandError } from "../../../cli/shell/command.ts";
import { Meter } from "../../../cli/perf/measure.ts";
import { RECV } from "../../../cli/peer/endpoint.ts";
import { PingPong } from "../../../cli/pingpong/ping_pong.ts";
import { WcStatus, WorkCompletionError } from "../../../mod.ts";
import { FakeSide } from "./fake_side.ts";

const DEPTH = 16;

function pair(): [FakeSide, FakeSide] {
  const [left, right] = [new FakeSide(1, DEPTH), new FakeSide(1, DEPTH)];
  [left.peer, right.peer] = [right, left];
  return [left, right];
}

Deno.test("Meter measures all round trips but the first, and then counts messages one way", async () => {
  const [left, right] = pair();
  const [client, server] = [new Meter(left, DEPTH, 10), new Meter(right, DEPTH, 10)];
  const latencies = await Promise.all([client.pingPong(10, true), server.pingPong(10, false)]);
  for (const values of latencies) {
    assertEquals(values.length, 8);
    assert(values.every((value) => value > 0), values.join());
  }
  assertEquals([left.sent, right.sent], [[10], [10]]);
  const { promise, resolve } = Promise.withResolvers<number>();
  const receiving = server.receive(12, promise);
  await client.send(12, 4);
  resolve(12);
  assertEquals((await receiving).received, 12);
});

Deno.test("Meter.pingPong() keeps a message that arrives before it begins", async () => {
  const [left, right] = pair();
  left.receives = 100;
  const server = new Meter(right, DEPTH, 10);
  const arrive = (count: number): void => {
    for (let i = 0; i < count; i++) right.completions.push({ wrId: RECV, qpNum: 100 });
  };
  arrive(11);
  await server.pingPong(10, false);
  arrive(9);
  await server.pingPong(10, false);
  assertEquals(right.sent, [20]);
});

Deno.test("Meter.receive() ends when the sender is done, whatever is lost", async () => {
  const [, right] = pair();
  right.completions.push({ wrId: RECV, qpNum: 100 });
  const { received } = await new Meter(right, DEPTH, 10).receive(5, Promise.resolve(5));
  assertEquals(received, 1);
});

Deno.test("Meter and PingPong throw when a request fails", async () => {
  const failed = { wrId: RECV, qpNum: 100, status: WcStatus.REM_OP_ERR };
  const [, right] = pair();
  right.completions.push(failed, failed);
  const pingPong = new PingPong(right, { iters: 1, rxDepth: DEPTH, timeout: 1 });
  assertThrows(() => pingPong.poll(), WorkCompletionError, "REM_OP_ERR");
  right.completions.push(failed);
  const meter = new Meter(right, DEPTH, 10);
  await assertRejects(() => meter.pingPong(10, false), WorkCompletionError, "REM_OP_ERR");
});

Deno.test("Meter gives up when nothing completes", async () => {
  const [, right] = pair();
  await assertRejects(
    () => new Meter(right, DEPTH, 0).pingPong(10, false),
    CommandError,
    "after 0 sent and 0 received messages, nothing completed within 0 s",
  );
});
