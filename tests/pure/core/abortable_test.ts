// Calls that cannot be stopped: however the wait ends, the outcome is used or discarded, once.
import { assertEquals, assertRejects } from "@std/assert";
import { assertSpyCalls, spy, stub } from "@std/testing/mock";
import { abortable } from "../../../types/core/abortable.ts";
import { Resource } from "../../../types/core/resource.ts";

class Owner extends Resource {
  destroyed = 0;

  constructor(onDestroy: () => unknown = () => {}) {
    const destroy = (_: undefined, owner: Owner): void => {
      owner.destroyed++;
      onDestroy();
    };
    super({ name: "owner", destroy }, []);
  }
}

const DISPOSED = "Cannot finish call: the object it works on was disposed";

/** A call whose end the test decides. */
// deno-lint-ignore explicit-function-return-type -- the types of the spies
function pending(signal?: AbortSignal) {
  const owner = new Owner();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const start = spy(() => promise);
  const finish = spy((outcome: number) => outcome * 2);
  const discard = spy((_: number) => {});
  return { owner, signal, start, finish, discard, resolve, reject };
}

/** Lets everything that is due happen. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** What happens to a call, its outcome, and what was done in the end, when the owner is closed as well. */
const STORIES: readonly [events: string, outcome: unknown, steps: string][] = [
  ["call resolve", 42, "start finish end destroy"],
  ["call reject", "no thread", "start end destroy"],
  // The signal had aborted before.
  ["abort call", "enough", "end destroy"],
  // The wait ends at once, and what comes later is discarded.
  ["call abort turn resolve", "enough", "start end discard destroy"],
  ["call resolve abort", "enough", "start discard end destroy"],
  ["call resolve turn abort", 42, "start finish end destroy"],
  // The owner lives until the call ends.
  ["call close turn resolve", DISPOSED, "start discard destroy end"],
  ["call abort close turn resolve", "enough", "start end discard destroy"],
];

for (const [events, outcome, steps] of STORIES) {
  Deno.test(`abortable() ends with ${outcome} after ${events}`, async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const owner = new Owner(() => log.push("destroy"));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const note = <T>(step: string, result: T): T => (log.push(step), result);
    let result: Promise<unknown> | undefined;
    const actions: Record<string, () => unknown> = {
      call: () => {
        result = abortable({
          owner,
          signal: controller.signal,
          start: () => note("start", promise),
          finish: (found) => note("finish", found * 2),
          discard: (found) => assertEquals(note("discard", found), 21),
        }).catch(({ message }) => message).finally(() => log.push("end"));
      },
      abort: () => controller.abort(new Error("enough")),
      close: () => owner.close(),
      resolve: () => resolve(21),
      reject: () => reject(new Error("no thread")),
    };
    for (const event of events.split(" ")) {
      if (event === "turn") await turn();
      else actions[event]!();
    }
    await turn();
    owner.close();
    assertEquals([await result, log.join(" ")], [outcome, steps]);
  });
}

Deno.test("abortable() rejects with the error of start() or finish(), and releases its owner", async () => {
  for (const failing of ["start", "finish"]) {
    const call = pending();
    const fail = () => {
      throw new RangeError(failing);
    };
    call.resolve(1);
    await assertRejects(() => abortable({ ...call, [failing]: fail }), RangeError, failing);
    assertSpyCalls(call.discard, 0);
    call.owner.close();
    assertEquals(call.owner.destroyed, 1);
  }
});

Deno.test("abortable() runs 8 calls at a time, and the next one when one ends", async () => {
  const calls = Array.from({ length: 10 }, () => pending());
  const results = calls.map((call) => abortable(call));
  const started = () => calls.filter((call) => call.start.calls.length > 0).length;
  assertEquals(started(), 8);
  calls[3]!.resolve(1);
  assertEquals(await results[3], 2);
  assertEquals(started(), 9);
  calls[5]!.reject(new Error("no"));
  await assertRejects(() => results[5]!);
  assertEquals(started(), 10);
  for (const call of calls) call.resolve(1);
  await Promise.allSettled(results);
});

Deno.test("abortable() rejects 20000 calls that cannot start when their turn comes", async () => {
  const first = Array.from({ length: 8 }, () => pending());
  const running = first.map((call) => abortable(call));
  const call = pending();
  const start = (): Promise<number> => {
    throw new TypeError("it is disposed");
  };
  const failing = Array.from({ length: 20_000 }, () => abortable({ ...call, start }));
  for (const { resolve } of first) resolve(1);
  await Promise.all(running);
  const ends = await Promise.allSettled(failing);
  const reasons = new Set(ends.map((end) => end.status === "rejected" && end.reason.message));
  assertEquals([...reasons], ["it is disposed"]);
});

Deno.test("abortable() drops a call that has not started when its signal aborts", async () => {
  const running = Array.from({ length: 8 }, () => pending());
  const results = running.map((call) => abortable(call));
  const controller = new AbortController();
  const queued = pending(controller.signal);
  const result = abortable(queued);
  controller.abort();
  await assertRejects(() => result, DOMException);
  for (const call of running) call.resolve(1);
  await Promise.all(results);
  await turn();
  assertSpyCalls(queued.start, 0);
  queued.owner.close();
  assertEquals(queued.owner.destroyed, 1);
});

/** A signal, and how many listeners it has. */
function countedSignal(): { readonly signal: AbortSignal; readonly listeners: () => number } {
  const { signal } = new AbortController();
  const added = spy(signal, "addEventListener");
  const removed = spy(signal, "removeEventListener");
  return { signal, listeners: () => added.calls.length - removed.calls.length };
}

Deno.test("abortable() leaves no listener on a signal that lives on", async () => {
  const { signal, listeners } = countedSignal();
  const call = pending(signal);
  const result = abortable(call);
  assertEquals(listeners(), 1);
  call.resolve(1);
  await result;
  assertEquals(listeners(), 0);
});

Deno.test("abortable() gives its place to others if the signal does not let it listen", async () => {
  const { signal } = new AbortController();
  using _ = stub(signal, "addEventListener", () => {
    throw new Error("no listener");
  });
  for (let i = 0; i < 8; i++) {
    await assertRejects(() => abortable(pending(signal)), Error, "no listener");
  }
  const call = pending();
  call.resolve(1);
  assertEquals(await abortable(call), 2);
});
