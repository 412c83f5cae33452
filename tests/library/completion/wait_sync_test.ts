// Waiting for completions and events on the thread itself.
import * as recorder from "../../provider/recorder.ts";
import { recorderPath } from "../../provider/compile.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { verbs } from "../../../ffi/library.ts";
import {
  CompletionChannel,
  CompletionQueue,
  VerbsError,
  WorkCompletionList,
} from "../../../mod.ts";
import { testsWith } from "../recorded.ts";

/** A channel with two queues; cq0 and cq1 in the recorder. */
const on = testsWith(({ context }) => {
  const channel = new CompletionChannel(context);
  const make = (): CompletionQueue => new CompletionQueue(context, { cqe: 8, channel });
  return { channel, one: make(), two: make() };
});

/** Completes a request of a queue while the thread that started it is in `poll(2)`. */
const WORKER = `
  const { library, cq, thread } = await new Promise((resolve) => onmessage = ({ data }) => resolve(data));
  const POLLS = /^(7|73|271) /;
  while (!POLLS.test(Deno.readTextFileSync(thread))) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  const parameters = ["usize", "buffer", "bool", "u64", "u64", "u32", "u16", "u64", "u32"];
  const { symbols } = Deno.dlopen(library, { recorder_complete: { parameters, result: "void" } });
  symbols.recorder_complete(cq, new BigUint64Array([7n, 0n, 0n, 0n, 0n, 0n]), false, 0n, 0n, 0, 0, 0n, 0);
  self.close();`;

/** Makes a Worker complete a request of a queue when this thread has fallen asleep. */
async function completeWhenAsleep(label: string): Promise<void> {
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(WORKER)}`, {
    type: "module",
  });
  worker.postMessage({
    library: await recorderPath(),
    cq: Deno.UnsafePointer.value(recorder.pointerTo(label)),
    thread: `/proc/${Deno.readLinkSync("/proc/thread-self")}/syscall`,
  });
}

/** Which queues were armed. It drops the calls of other verbs. */
function arms(): unknown[] {
  return recorder.takeOf("ibv_req_notify_cq").map(({ args }) => args["cq"]);
}

on.test("CompletionQueue.waitSync() sleeps until another thread completes a request", async ({ one }) => {
  await completeWhenAsleep("cq0");
  assertEquals(one.waitSync(), true);
  assertEquals(one.poll().map(({ wrId }) => wrId), [7n]);
  assertEquals(arms(), ["cq0"]);
});

on.test("CompletionQueue.waitSync() acknowledges its events when the queue is closed", ({ one }) => {
  for (let i = 0; i < 3; i++) {
    recorder.sendCqEvent("cq0");
    assertEquals(one.waitSync({ timeout: 1 }), false);
  }
  one.close();
  const calls = recorder.takeOf("ibv_ack_cq_events", "ibv_destroy_cq");
  const acknowledged = calls.slice(0, -1).map(({ args }) => Number(args["nevents"]));
  assertEquals(acknowledged.reduce((a, b) => a + b), 3);
  assertEquals(calls.at(-1)!.verb, "ibv_destroy_cq");
});

on.test("CompletionChannel.getCqEventSync() sleeps until another thread completes a request", async (setup) => {
  const { channel, two } = setup;
  two.reqNotify();
  await completeWhenAsleep("cq1");
  assertEquals(channel.getCqEventSync(), two);
  assertEquals(two.poll().length, 1);
});

on.test("CompletionQueue.waitSync() arms nothing where there are completions, and loses none", ({ one }) => {
  for (const wr_id of [1n, 2n, 3n]) recorder.complete("cq0", { wr_id });
  assertEquals([one.waitSync(), one.waitSync({ timeout: 0 })], [true, true]);
  assertEquals(arms(), []);
  const batch = new WorkCompletionList(2);
  assertEquals([one.pollInto(batch), batch.wrId(0), batch.wrId(1)], [2, 1n, 2n]);
  assertEquals(one.poll().map(({ wrId }) => wrId), [3n]);
  assertEquals(one.waitSync({ timeout: 0 }), false);
});

on.test("CompletionQueue.waitSync() finds a completion that came just before the arming", ({ context, one }) => {
  const { ibv_poll_cq, ibv_req_notify_cq } = verbs();
  {
    using _late = stub(verbs(), "ibv_req_notify_cq", (...args) => {
      recorder.complete("cq0");
      return ibv_req_notify_cq(...args);
    });
    assertEquals(one.waitSync({ timeout: 0 }), true);
  }
  // In the native call nothing can come in between but from before it.
  using _late = stub(verbs(), "ibv_poll_cq", (...args) => {
    const polled = ibv_poll_cq(...args);
    recorder.complete("cq2");
    return polled;
  });
  const cq = new CompletionQueue(context, { cqe: 8 });
  assertEquals([cq.waitSync(), cq.poll().length], [true, 1]);
  assertEquals(recorder.takeOf("ibv_get_cq_event"), []);
});

on.test("CompletionQueue.waitSync() reports that the queue has overrun", ({ one }) => {
  recorder.fail("ibv_poll_cq", "EIO", { skip: 1 });
  assertStringIncludes(assertThrows(() => one.waitSync(), VerbsError).message, "overrun");
  recorder.fail("ibv_poll_cq", "EIO", { skip: 2 });
  recorder.sendCqEvent("cq0");
  assertStringIncludes(assertThrows(() => one.waitSync(), VerbsError).message, "overrun");
});

on.test("CompletionQueue.waitSync() arms again after an event without a completion", ({ one }) => {
  recorder.sendCqEvent("cq0");
  assertEquals(one.waitSync({ timeout: 1 }), false);
  assertEquals(arms(), ["cq0", "cq0"]);
  recorder.complete("cq0");
  assertEquals(one.waitSync(), true);
});

on.test("CompletionQueue.waitSync() leaves events of other queues to those who wait for them", async (setup) => {
  const { channel, one, two } = setup;
  const iteration = two.completions();
  const next = iteration.next();
  // The iteration arms the queue after a turn of the event loop.
  while (arms().length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  recorder.complete("cq1", { wr_id: 5n });
  assertEquals(one.waitSync({ timeout: 0 }), false);
  assertEquals((await next).value?.wrId, 5n);
  recorder.sendCqEvent("cq1");
  assertEquals(one.waitSync({ timeout: 0 }), false);
  assertEquals([channel.getCqEventSync(), channel.getCqEventSync({ timeout: 0 })], [
    two,
    undefined,
  ]);
});

on.test("CompletionChannel.getCqEventSync() gives each event once, and acknowledges it", ({ channel, one, two }) => {
  for (const cq of ["cq1", "cq0", "cq1"] as const) recorder.sendCqEvent(cq);
  const found = [0, 1, 2, 3].map(() => channel.getCqEventSync({ timeout: 0 }));
  assertEquals(found.map((cq) => cq && [one, two].indexOf(cq)), [1, 0, 1, undefined]);
  const acknowledged = recorder.takeOf("ibv_ack_cq_events");
  assertEquals(acknowledged.map(({ args }) => args["nevents"]), [1, 1, 1]);
});

on.test("CompletionQueue.waitSync() polls for so many microseconds before it arms the queue", ({ context }) => {
  const { ibv_poll_cq } = verbs();
  let polls = 0;
  using _counted = stub(verbs(), "ibv_poll_cq", (...args) => {
    if (++polls === 100) recorder.complete("cq2");
    return ibv_poll_cq(...args);
  });
  const cq = new CompletionQueue(context, { cqe: 8 });
  assertEquals(cq.waitSync({ spinMicroseconds: 0x7fff_ffff }), true);
  assertEquals([polls, arms()], [100, []]);
  cq.poll();
  assertEquals(cq.waitSync({ spinMicroseconds: 0x7fff_ffff, timeout: 1 }), false);
  assert(polls > 102, `${polls}`);
  polls = 100;
  assertEquals(cq.waitSync({ timeout: 0 }), false);
  assertEquals(polls, 102);
});

on.test("Blocking calls end when the time is over", ({ channel, one }) => {
  for (const timeout of [0, 3]) {
    const start = performance.now();
    assertEquals(channel.getCqEventSync({ timeout }), undefined);
    assertEquals(one.waitSync({ timeout }), false);
    const taken = performance.now() - start;
    assert(taken >= 2 * timeout, `${taken}`);
  }
});

on.test("Blocking calls need a channel, and objects that are open", ({ context, channel, one }) => {
  const silent = new CompletionQueue(context, { cqe: 1, channel: null });
  assertThrows(() => silent.waitSync(), TypeError, "the completion queue has no channel");
  one.close();
  assertThrows(() => one.waitSync({ timeout: 0 }), TypeError, "disposed");
  channel.close();
  assertThrows(() => channel.getCqEventSync({ timeout: 0 }), TypeError, "disposed");
});

on.test("Blocking calls fail when the device is gone, and try again where the verb was interrupted", (setup) => {
  const { channel, one } = setup;
  recorder.sendCqEvent("cq0");
  recorder.fail("ibv_get_cq_event", "EINTR", { times: 1 });
  assertEquals(channel.getCqEventSync(), one);
  recorder.sendCqEvent("cq0");
  recorder.fail("ibv_get_cq_event", "EIO", { times: 2 });
  assertEquals(assertThrows(() => one.waitSync(), VerbsError).code, "EIO");
});

on.test("Those who wait by the event loop wait on after a blocking call has read", async ({ channel, one, two }) => {
  const wait = channel.getCqEvent();
  recorder.sendCqEvent("cq1");
  assertEquals(channel.getCqEventSync({ timeout: 0 }), undefined);
  assertEquals(await wait, two);
  const aborted = channel.getCqEvent({ signal: AbortSignal.timeout(1) });
  recorder.complete("cq0");
  assertEquals(one.waitSync(), true);
  await assertRejects(() => aborted, DOMException);
});

on.test("CompletionQueue.waitSync() gives the events that it reads asleep to others who wait for them", async (setup) => {
  const { channel, one, two } = setup;
  recorder.sendCqEvent("cq1");
  assertEquals(one.waitSync({ timeout: 1 }), false);
  assertEquals(channel.getCqEventSync({ timeout: 0 }), two);
  for (const cq of ["cq0", "cq1"] as const) {
    const next = channel.getCqEvent();
    recorder.sendCqEvent(cq);
    assertEquals(one.waitSync({ timeout: 1 }), false);
    assertEquals(await next, cq === "cq0" ? one : two);
  }
  assertEquals(channel.getCqEventSync({ timeout: 0 }), undefined);
});
