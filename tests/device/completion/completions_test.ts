// Iterating over completions as they come.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { WorkCompletions, WrOpcode } from "../../../mod.ts";
import { outputOf } from "../../subprocess.ts";
import { Random } from "../wc_generator.ts";
import { countOf, deviceTest, type Pair, RXE, udPair, waitFor, withDeadline } from "../setup.ts";

const LATE = new Error("Cannot wait for the event: it does not come");

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function send({ left, toRight }: Pair): void {
  left.qp.postSend(toRight);
}

deviceTest("CompletionQueue.completions() gives completions as they come", async () => {
  using pair = udPair();
  const { left } = pair;
  const sent = waitFor(left.cq, 5);
  for (let i = 0; i < 5; i++) {
    left.qp.postSend({ ...pair.toRight, wrId: i });
    await pause(i);
  }
  assertEquals((await sent).map(({ wrId }) => wrId), [0n, 1n, 2n, 3n, 4n]);
});

deviceTest("CompletionQueue.completions() misses none of 2000 messages", async () => {
  using pair = udPair();
  const { left, right } = pair;
  const random = new Random(7);
  const total = 2000;
  for (let i = 0; i < 64; i++) {
    right.qp.postRecv({
      wrId: BigInt(i),
      sge: right.mr.slice(i * 64, 64),
    });
  }
  const received: number[] = [];
  let failed = false;
  const receive = withDeadline(LATE, async (signal) => {
    signal.addEventListener("abort", () => failed = true);
    for await (const wc of right.cq.completions({ signal, batch: 1 + random.below(8) })) {
      received.push(wc.check().immData);
      right.qp.postRecv({ wrId: wc.wrId, sge: right.mr.slice(Number(wc.wrId) * 64, 64) });
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

deviceTest("CompletionQueue.completions() misses none that comes before it arms", async () => {
  using pair = udPair();
  const { cq } = pair.left;
  const arm = cq.reqNotify.bind(cq);
  cq.reqNotify = () => {
    send(pair);
    // the completion is there when this ends, so that arming gives no event for it
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    arm();
  };
  assertEquals((await waitFor(cq))[0]!.ok, true);
});

deviceTest("CompletionQueue.completions() leaves what it had polled to the next poll", async () => {
  using pair = udPair();
  const { left } = pair;
  left.qp.postSend(Array.from({ length: 40 }, (_, i) => ({ ...pair.toRight, wrId: BigInt(i) })));
  await pause(100);
  const found: bigint[] = [];
  await withDeadline(LATE, async (signal) => {
    for (let i = 0; i < 3; i++) {
      for await (const wc of left.cq.completions({ signal })) {
        found.push(wc.wrId);
        break;
      }
    }
  });
  found.push(...left.cq.poll(5).map(({ wrId }) => wrId));
  const batch = new WorkCompletions(8);
  while (left.cq.pollInto(batch) > 0) {
    for (let i = 0; i < batch.length; i++) found.push(batch.wrId(i));
  }
  assertEquals(found, Array.from({ length: 40 }, (_, i) => BigInt(i)));
});

deviceTest("CompletionQueue.completions() leaves what it polled to who waits", async () => {
  using pair = udPair();
  const { left } = pair;
  const first = left.cq.completions();
  left.qp.postSend([{ ...pair.toRight, wrId: 1n }, { ...pair.toRight, wrId: 2n }]);
  await pause(100);
  assertEquals((await first.next()).value!.wrId, 1n);
  const second = waitFor(left.cq);
  await pause(50);
  await first.return();
  assertEquals((await second)[0]!.wrId, 2n);
});

deviceTest("CompletionQueue.completions() can be left and taken up again", async () => {
  using pair = udPair();
  for (let i = 0; i < 3; i++) {
    send(pair);
    for await (const wc of pair.left.cq.completions()) {
      assert(wc.ok);
      break;
    }
  }
});

deviceTest("CompletionQueue.completions() throws when the queue is disposed", async () => {
  using pair = udPair();
  const before = countOf("cq");
  const wait = pair.left.cq.completions().next();
  const other = pair.right.cq.completions({ signal: AbortSignal.timeout(200) }).next();
  await pause(10);
  pair.left.cq.close();
  // On a busy host the iteration has not begun to wait yet, and then finds the queue disposed.
  await assertRejects(() => wait, TypeError, "disposed");
  assertEquals(countOf("cq"), before - 1);
  await assertRejects(() => other, DOMException);
});

deviceTest("Context.close() ends all waits and closes the device", async () => {
  const before = countOf("ctx");
  const pair = udPair();
  const waits = [pair.left.cq.completions().next(), pair.right.cq.completions().next()];
  await pause(10);
  pair.context.close();
  for (const outcome of await Promise.allSettled(waits)) {
    assert(outcome.status === "rejected" && outcome.reason instanceof TypeError);
  }
  assertEquals(countOf("ctx"), before);
});

deviceTest("Two iterations over one queue share its completions", async () => {
  using pair = udPair();
  const waits = [waitFor(pair.left.cq), waitFor(pair.left.cq)];
  await pause(5);
  send(pair);
  send(pair);
  assertEquals((await Promise.all(waits)).flat().map(({ ok }) => ok), [true, true]);
});

deviceTest("A process ends when nobody waits for completions any more", async () => {
  const printed = await outputOf(`
    import { CompletionQueue, Context } from MOD;
    const context = Context.open("${RXE}");
    const cq = new CompletionQueue(context, { cqe: 4 });
    const controller = new AbortController();
    const wait = cq.completions({ signal: controller.signal }).next().catch(() => "aborted");
    setTimeout(() => controller.abort(), 50);
    console.log(await wait);
    // neither the context nor its channel is disposed`);
  assertEquals(printed, "aborted");
});
