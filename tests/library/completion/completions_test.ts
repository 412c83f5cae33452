// Iterating over completions as they come.
import { assertEquals } from "@std/assert";
import { WrOpcode } from "../../../mod.ts";
import { Random } from "../../random.ts";
import { withDeadline } from "../../until.ts";
import { test, udPair, waitFor } from "../shm_device.ts";

const LATE = new Error("Cannot wait for the event: it does not come");

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test("CompletionQueue.completions() misses none of 500 messages", async () => {
  using pair = udPair();
  const { left, right } = pair;
  const random = new Random(7);
  const total = 500;
  for (let i = 0; i < 64; i++) {
    right.qp.postRecv({
      wrId: BigInt(i),
      sge: right.mr.sge(i * 64, 64),
    });
  }
  const received: number[] = [];
  let failed = false;
  const receive = withDeadline(LATE, async (signal) => {
    signal.addEventListener("abort", () => failed = true);
    for await (const wc of right.cq.completions({ signal, batch: 1 + random.below(8) })) {
      received.push(wc.check().immData);
      right.qp.postRecv({ wrId: wc.wrId, sge: right.mr.sge(Number(wc.wrId) * 64, 64) });
      if (received.length === total) return;
    }
  });
  for (let i = 0; i < total; i++) {
    left.qp.postSend({ ...pair.toRight, opcode: WrOpcode.SEND_WITH_IMM, immData: i });
    if (random.oneIn(3)) await Promise.resolve();
    if (random.oneIn(40)) await pause(random.below(4));
    // no more under way than there are receives
    if (i % 32 === 31) await waitFor(left.cq, 32);
    while (!failed && i - received.length >= 32) await pause(0);
  }
  await receive;
  assertEquals(received, Array.from({ length: total }, (_, i) => i));
});

test("Context.close() ends all waits and closes the device", async () => {
  const pair = udPair();
  const waits = [pair.left.cq.completions().next(), pair.right.cq.completions().next()];
  await pause(10);
  pair.context.close();
  assertEquals((await Promise.all(waits)).map(({ done }) => done), [true, true]);
});
