// The exchange of messages, between two sides without a device.
import { assert, assertEquals } from "@std/assert";
import { PingPong } from "../../../cli/pingpong/ping_pong.ts";
import { FakeSide } from "./fake_side.ts";

Deno.test("PingPong.sleep() asks for no event while something completes", async () => {
  const [left, right] = [new FakeSide(1, 1), new FakeSide(1, 1)];
  [left.peer, right.peer] = [right, left];
  left.postSend(0);
  await new PingPong(right, { iters: 1, rxDepth: 1, timeout: 1 }).sleep();
  assertEquals(right.sent, [1]);
});

for (const [queuePairs, rxDepth] of [[1, 1], [1, 500], [3, 7], [16, 16], [16, 500]] as const) {
  Deno.test(`PingPong sends enough over ${queuePairs} queue pairs with ${rxDepth} receives`, () => {
    const iters = 100;
    const [left, right] = [new FakeSide(queuePairs, rxDepth), new FakeSide(queuePairs, rxDepth)];
    [left.peer, right.peer] = [right, left];
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
