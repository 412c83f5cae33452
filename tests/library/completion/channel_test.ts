// Waiting for events of completion queues, on channels that are pipes.
import * as recorder from "../../provider/recorder.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { spy, stub } from "@std/testing/mock";
import { verbs } from "../../../ffi/library.ts";
import { CompletionChannel, CompletionQueue, Context, VerbsError } from "../../../mod.ts";
import { clock } from "../../../wait/clock.ts";
import { nextTurn } from "../../../wait/turns.ts";
import { outputOf } from "../../subprocess.ts";
import { testsWith } from "../recorded.ts";

/** A channel with two queues; cq0 and cq1 in the recorder. */
const on = testsWith(({ context }) => {
  const channel = new CompletionChannel(context);
  const make = (): CompletionQueue => new CompletionQueue(context, { cqe: 8, channel });
  return { channel, one: make(), two: make() };
});

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

/** Lets everything happen that is ready to, and what must happen, however long another thread takes for it. */
async function settle(hasHappened: () => boolean = () => true): Promise<void> {
  for (let i = 0; i < 5 || !hasHappened(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Tells how a promise stands. */
function watched<T>(promise: Promise<T>): { value?: T } {
  const state: { value?: T } = {};
  promise.then((value) => state.value = value, () => {});
  return state;
}

on.test("CompletionChannel.getCqEvent() ends one wait for each event, the oldest first", async (setup) => {
  const { channel, one, two } = setup;
  const waits = [1, 2, 3].map(() => channel.getCqEvent());
  const states = waits.map(watched);
  await settle();
  recorder.sendCqEvent("cq1");
  await settle(() => states[0]!.value !== undefined);
  assertEquals(states.map(({ value }) => value), [two, undefined, undefined]);
  recorder.sendCqEvent("cq0");
  recorder.sendCqEvent("cq1");
  assertEquals(await Promise.all(waits), [two, one, two]);
});

on.test("CompletionChannel.getCqEvent() gives an event that has come without a turn of the event loop", async ({ channel, one }) => {
  await settle();
  // On a busy host a turn of the event loop may end earlier.
  using _clock = stub(clock, "now", () => 0);
  await nextTurn();
  recorder.sendCqEvent("cq0");
  const state = watched(channel.getCqEvent());
  for (let i = 0; i < 100; i++) await undefined;
  assertEquals(state.value, one);
});

on.test("An event of a queue goes to the iteration that waits for it, not to getCqEvent()", async (setup) => {
  const { channel, one, two } = setup;
  const any = channel.getCqEvent();
  const anyState = watched(any);
  const iterations = [one.completions(), one.completions(), two.completions()];
  const states = iterations.map((iteration) => watched(iteration.next()));
  await settle();
  recorder.complete("cq0", { wr_id: 1n });
  recorder.complete("cq0", { wr_id: 2n });
  await settle(() => states.slice(0, 2).every(({ value }) => value !== undefined));
  // One that has used up its turn is second.
  const [first, second, third] = states.map(({ value }) => value?.value?.wrId);
  assertEquals([[first, second].toSorted(), third], [[1n, 2n], undefined]);
  assertEquals(anyState.value, undefined);
  recorder.complete("cq1", { wr_id: 3n });
  await settle(() => states[2]!.value !== undefined);
  assertEquals(states[2]!.value?.value?.wrId, 3n);
  assertEquals(anyState.value, undefined);
  // Nobody waits for the queue any more.
  recorder.sendCqEvent("cq1");
  assertEquals(await any, two);
});

on.test("CompletionChannel.getCqEvent() gives events that came while nobody waited for them", async (setup) => {
  const { channel, one, two } = setup;
  const wait = one.completions().next();
  await settle();
  recorder.sendCqEvent("cq1");
  await settle();
  recorder.complete("cq0", { wr_id: 5n });
  assertEquals((await wait).value?.wrId, 5n);
  assertEquals(await channel.getCqEvent(), two);
  const controller = new AbortController();
  const none = channel.getCqEvent({ signal: controller.signal });
  await settle();
  controller.abort(new Error("no event"));
  await assertRejects(() => none, Error, "no event");
});

on.test("CompletionChannel forgets the events of a queue that is closed", async (setup) => {
  const { channel, one, two } = setup;
  const wait = one.completions().next();
  await settle();
  recorder.sendCqEvent("cq1");
  await settle();
  two.close();
  const controller = new AbortController();
  const none = channel.getCqEvent({ signal: controller.signal });
  one.close();
  assertEquals((await wait).done, true);
  controller.abort(new Error("no event"));
  await assertRejects(() => none, Error, "no event");
});

on.test("CompletionChannel acknowledges each event once", async ({ channel }) => {
  recorder.take();
  recorder.sendCqEvent("cq0");
  recorder.sendCqEvent("cq1");
  await channel.getCqEvent();
  await channel.getCqEvent();
  const acknowledged = recorder.takeOf("ibv_ack_cq_events");
  assertEquals(acknowledged.map(({ args }) => [args.cq, args.nevents]), [["cq0", 1], ["cq1", 1]]);
});

on.test("CompletionChannel.getCqEvent() rejects with the reason of a signal that has aborted", async ({ channel }) => {
  const reason = new Error("enough");
  const aborted = channel.getCqEvent({ signal: AbortSignal.abort(reason) });
  assertEquals(await aborted.catch((error) => error), reason);
});

on.test("CompletionChannel.close() ends all waits and gives its descriptors back", async (setup) => {
  const { context } = setup;
  const warm = new CompletionChannel(context);
  await assertRejects(() => warm.getCqEvent({ signal: AbortSignal.timeout(1) }));
  warm.close();
  const before = descriptors();
  const channels = Array.from({ length: 5 }, () => new CompletionChannel(context));
  const opened = descriptors() - before;
  assert(opened >= 5, `${opened}`);
  const waits = channels.flatMap((channel) => [channel.getCqEvent(), channel.getCqEvent()]);
  await settle();
  for (const channel of channels) channel.close();
  for (const outcome of await Promise.allSettled(waits)) {
    assert(outcome.status === "rejected");
    assertEquals(
      outcome.reason.message,
      "Cannot wait for event: the completion channel was disposed",
    );
  }
  assertEquals(descriptors(), before);
  assertEquals(recorder.live("channel"), 1);
});

on.test("An aborted wait leaves others waiting, without a busy loop", async ({ channel, one }) => {
  const controller = new AbortController();
  const aborted = channel.getCqEvent({ signal: controller.signal });
  const wait = one.completions().next();
  await settle();
  controller.abort(new Error("enough"));
  await assertRejects(() => aborted, Error, "enough");
  using reads = spy(verbs(), "ibv_get_cq_event");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert(reads.calls.length <= 1, `${reads.calls.length} reads without an event`);
  recorder.complete("cq0", { wr_id: 9n });
  assertEquals((await wait).value?.wrId, 9n);
  // The same with nobody left, and somebody who comes later.
  const again = new AbortController();
  const last = channel.getCqEvent({ signal: again.signal });
  again.abort(new Error("enough"));
  await assertRejects(() => last);
  const later = channel.getCqEvent();
  recorder.sendCqEvent("cq0");
  assertEquals(await later, one);
});

on.test("A wait that begins while the last one ends is not lost", async ({ channel, one }) => {
  for (let i = 0; i < 20; i++) {
    const controller = new AbortController();
    const first = channel.getCqEvent({ signal: controller.signal });
    if (i % 2 === 0) await settle();
    controller.abort();
    const second = channel.getCqEvent();
    await assertRejects(() => first);
    recorder.sendCqEvent("cq0");
    assertEquals(await second, one);
  }
});

on.test("CompletionChannel.getCqEvent() rejects when the descriptor cannot be read", async (setup) => {
  const { channel } = setup;
  const waits = [channel.getCqEvent(), channel.getCqEvent()];
  await settle();
  recorder.fail("ibv_get_cq_event", "EIO");
  recorder.sendCqEvent("cq0");
  for (const wait of waits) {
    const error = await assertRejects(() => wait, VerbsError);
    assertEquals([error.verb, error.code], ["ibv_get_cq_event", "EIO"]);
  }
});

Deno.test("CompletionChannel.getCqEvent() rejects with EMFILE when no descriptor is left to wait", async () => {
  const printed = await outputOf(
    `
    import * as recorder from ${JSON.stringify(import.meta.resolve("../../provider/recorder.ts"))};
    import { CompletionChannel, Context, VerbsError } from MOD;
    using context = Context.open();
    const channel = new CompletionChannel(context);
    const files = [];
    try { while (true) files.push(Deno.openSync("/dev/null")); } catch {}
    // Deno itself panics where it has none to read the map of a source for the stack of an error.
    files.pop().close();
    const error = await channel.getCqEvent().catch((error) => error);
    for (const file of files) file.close();
    console.log(error instanceof VerbsError, error.verb, error.code, recorder.violations().length);
    // The channel works again when there are descriptors.
    const signal = AbortSignal.timeout(5);
    console.log(await channel.getCqEvent({ signal }).catch((error) => error.name));
  `,
    { prefix: ["prlimit", "--nofile=64"] },
  );
  assertEquals(printed, "true epoll_create1 EMFILE 0\nTimeoutError");
});

on.test("CompletionChannel.close() destroys the channel at once, while another thread watches its descriptor", async (setup) => {
  const { channel } = setup;
  const wait = assertRejects(() => channel.getCqEvent(), TypeError, "channel was disposed");
  await settle();
  channel.close();
  assertEquals(recorder.live("channel"), 0);
  await wait;
});

on.test("A channel is not watched any more after the last wait was aborted, each time", async (setup) => {
  const { channel } = setup;
  for (let i = 0; i < 3; i++) {
    const controller = new AbortController();
    const wait = channel.getCqEvent({ signal: controller.signal });
    await settle();
    controller.abort(new Error("enough"));
    await assertRejects(() => wait, Error, "enough");
  }
  channel.close();
  assertEquals(recorder.live("channel"), 0);
});

Deno.test("CompletionChannel() destroys a channel whose descriptor cannot be used", () => {
  recorder.reset();
  using context = Context.open();
  recorder.setField("channel", "fd", -1);
  const error = assertThrows(() => new CompletionChannel(context), VerbsError);
  assertEquals([error.verb, error.code], ["fcntl", "EBADF"]);
  assertEquals(recorder.live("channel"), 0);
  assertEquals(recorder.violations(), []);
});

on.test("CompletionChannel gives nobody an event that is read after its queue is closed", async (setup) => {
  const { channel, one, two } = setup;
  const wait = channel.getCqEvent();
  await settle();
  recorder.sendCqEvent("cq1");
  two.close();
  await settle();
  recorder.sendCqEvent("cq0");
  assertEquals((await wait) === one, true);
});
