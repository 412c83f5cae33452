// Completion queues: creating, polling, polling ahead.
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  CompletionChannel,
  CompletionQueue,
  VerbsError,
  WcStatus,
  type WorkCompletion,
  WorkCompletionList,
} from "../../../mod.ts";
import { cqCore, drain } from "../../../types/completion/completion_queue.ts";
import { SendTracker } from "../../../types/completion/send_tracker.ts";
import { testsWith } from "../recorded.ts";

/** `cq` is cq0 in the recorder. */
const on = testsWith(({ context }) => ({ cq: new CompletionQueue(context, { cqe: 256 }) }));

/** Puts completions with the `wrId` of a range into cq0. */
function complete(from: number, to: number): void {
  for (let i = from; i < to; i++) recorder.complete("cq0", { wr_id: BigInt(i) });
}

function ids(completions: Iterable<WorkCompletion>): number[] {
  return [...completions].map(({ wrId }) => Number(wrId));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

on.test("CompletionQueue.poll() polls as many as it is asked for, without memory for more", (setup) => {
  const { cq } = setup;
  complete(0, 20);
  assertThrows(() => cq.poll(0), RangeError, "0");
  assertEquals(ids(cq.poll(3)), [0, 1, 2]);
  assertEquals(ids(cq.poll(1)), [3]);
  assertEquals(ids(cq.poll()), range(4, 20));
  assertEquals(cq.poll(2 ** 31 - 1), []);
});

on.test("CompletionQueue.poll() throws when the provider fails or gives too many", ({ cq }) => {
  const batch = new WorkCompletionList(4);
  complete(0, 2);
  assertEquals(cq.pollInto(batch), 2);
  recorder.fail("ibv_poll_cq", 5, { times: 1, result: -5n });
  const error = assertThrows(() => cq.pollInto(batch), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_poll_cq", "EIO"]);
  assert(error.hint!.includes("overrun"));
  assertEquals(batch.length, 0);
  recorder.fail("ibv_poll_cq", 95, { times: 1, result: 95n });
  assertEquals(assertThrows(() => cq.pollInto(batch), VerbsError).code, "EOPNOTSUPP");
  assertEquals(cq.poll(), []);
});

on.test("CompletionQueue.completions() ends when the queue is closed, polled ahead or not", async (setup) => {
  const { cq } = setup;
  complete(0, 3);
  const iteration = cq.completions();
  await iteration.next();
  cq.close();
  assertEquals((await iteration.next()).done, true);
  assertThrows(() => cq.completions(), TypeError, "it is disposed");
});

on.test("CompletionQueue.completions() rejects when polling or arming fails", async ({ cq }) => {
  recorder.fail("ibv_poll_cq", 5, { times: 1, result: -5n });
  await assertRejects(() => cq.completions().next(), VerbsError, "ibv_poll_cq");
  recorder.fail("ibv_req_notify_cq", "EIO", { times: 1 });
  await assertRejects(() => cq.completions().next(), VerbsError, "ibv_req_notify_cq");
});

on.test("drain() wakes an iteration that waits", async (setup) => {
  const { cq } = setup;
  using silent = new CompletionChannel(setup.context);
  using queue = new CompletionQueue(setup.context, { cqe: 8, channel: silent });
  const wait = queue.completions().next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  // Its event does not come: the recorder sends none for a queue that it does not take for armed.
  recorder.fail("ibv_get_cq_event", "EAGAIN");
  recorder.complete("cq1", { wr_id: 7n });
  drain(queue);
  assertEquals((await wait).value?.wrId, 7n);
  assertEquals(cq.poll(), []);
});

on.test("drain() leaves an error to the next poll, and does nothing to a closed queue", (setup) => {
  const { cq } = setup;
  recorder.fail("ibv_poll_cq", 5, { times: 1, result: -5n });
  drain(cq);
  cq.close();
  drain(cq);
});

on.test("drain() ends although completions keep coming", ({ context }) => {
  const cq = new CompletionQueue(context, { cqe: 8 });
  // Each poll finds the batch full.
  recorder.fail("ibv_poll_cq", 0, { result: 64n });
  recorder.take();
  drain(cq);
  assertEquals(recorder.takeOf("ibv_poll_cq").length, 1);
});

on.test("Polling reports successful sends to the trackers of their queue pairs", ({ cq }) => {
  const trackers = [1, 2, 3].map((qpNum) => {
    const tracker = new SendTracker();
    tracker.posted(4);
    cqCore(cq).senders.set(qpNum, tracker);
    return tracker;
  });
  const left = (): number[] =>
    trackers.map((tracker) => [1, 2, 3, 4].filter((number) => tracker.isUnderWay(number)).length);
  const RECV = 128;
  for (const qp_num of [1, 1, 2, 1, 2]) recorder.complete("cq0", { qp_num });
  recorder.complete("cq0", { qp_num: 1, opcode: RECV });
  recorder.complete("cq0", { qp_num: 2, status: WcStatus.WR_FLUSH_ERR });
  recorder.complete("cq0", { qp_num: 77 });
  assertEquals(left(), [4, 4, 4]);
  cq.poll(2);
  assertEquals(left(), [2, 4, 4]);
  cq.pollInto(new WorkCompletionList(8));
  assertEquals(left(), [1, 2, 4]);
  cqCore(cq).senders.delete(1);
  recorder.complete("cq0", { qp_num: 1 });
  recorder.complete("cq0", { qp_num: 3 });
  drain(cq);
  assertEquals(left(), [1, 2, 3]);
  // They are reported when they are polled from the device, not again when they are given out.
  cq.poll(8);
  assertEquals(left(), [1, 2, 3]);
});

on.test("Queues without a channel of their own share one, also after that was closed", (setup) => {
  const { cq, context } = setup;
  using same = new CompletionQueue(context, { cqe: 4 });
  assertEquals(same.channel, cq.channel);
  cq.channel!.close();
  assertEquals([cq.disposed, same.disposed], [true, true]);
  using next = new CompletionQueue(context, { cqe: 4 });
  assert(next.channel !== cq.channel);
});

on.test("CompletionQueue.completions() rejects with the signal's reason while it waits", async (setup) => {
  const { cq } = setup;
  const controller = new AbortController();
  const { signal } = controller;
  const wait = cq.completions({ signal }).next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await wait.catch((error) => error), reason);
  assertEquals(await cq.completions({ signal }).next().catch((error) => error), reason);
});
