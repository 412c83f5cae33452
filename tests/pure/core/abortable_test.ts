// Calls that cannot be stopped: however the wait ends, the outcome is used or discarded, once.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { abortable, orAborted, signalOf } from "../../../types/core/abortable.ts";
import { Resource } from "../../../types/core/resource.ts";

class Owner extends Resource {
  destroyed = 0;

  constructor() {
    super({ name: "owner", destroy: (owner: Owner) => owner.destroyed++ }, []);
  }
}

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

Deno.test("abortable() returns the result of finish()", async () => {
  const call = pending();
  const result = abortable(call);
  call.resolve(21);
  assertEquals(await result, 42);
  assertSpyCalls(call.discard, 0);
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() rejects with the error of finish()", async () => {
  const call = pending();
  const finish = () => {
    throw new RangeError("no");
  };
  const result = abortable({ ...call, finish });
  call.resolve(1);
  await assertRejects(() => result, RangeError, "no");
  assertSpyCalls(call.discard, 0);
});

Deno.test("abortable() starts nothing when the signal has aborted before", async () => {
  const reason = new Error("enough");
  const call = pending(AbortSignal.abort(reason));
  assertEquals(await abortable(call).catch((error) => error), reason);
  assertSpyCalls(call.start, 0);
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() rejects at once when the signal aborts, and discards the outcome later", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abortable(call);
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await result.catch((error) => error), reason);
  assertSpyCalls(call.discard, 0);
  call.resolve(7);
  await turn();
  assertSpyCalls(call.finish, 0);
  assertSpyCalls(call.discard, 1);
  assertEquals(call.discard.calls[0]!.args, [7]);
});

Deno.test("abortable() discards when the signal aborts in the turn in which the call ends", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abortable(call);
  call.resolve(7);
  controller.abort();
  await assertRejects(() => result, DOMException);
  await turn();
  assertSpyCalls(call.finish, 0);
  assertSpyCalls(call.discard, 1);
});

Deno.test("abortable() keeps the result when the signal aborts afterwards", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abortable(call);
  call.resolve(1);
  assertEquals(await result, 2);
  controller.abort();
  await turn();
  assertSpyCalls(call.discard, 0);
});

Deno.test("abortable() keeps its owner until the call ends, and discards when that was disposed", async () => {
  const call = pending();
  const result = abortable(call);
  call.owner.close();
  assertEquals([call.owner.disposed, call.owner.destroyed], [true, 0]);
  call.resolve(3);
  await assertRejects(() => result, TypeError, "the object it works on was disposed");
  assertSpyCalls(call.finish, 0);
  assertSpyCalls(call.discard, 1);
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() discards before its owner is destroyed", async () => {
  const call = pending();
  let destroyedThen: number | undefined;
  const discard = () => {
    destroyedThen = call.owner.destroyed;
  };
  const result = abortable({ ...call, discard });
  call.owner.close();
  call.resolve(3);
  await assertRejects(() => result);
  assertEquals([destroyedThen, call.owner.destroyed], [0, 1]);
});

Deno.test("abortable() discards once when the signal aborts and the owner is disposed", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abortable(call);
  controller.abort();
  call.owner.close();
  await assertRejects(() => result, DOMException);
  call.resolve(3);
  await turn();
  assertSpyCalls(call.discard, 1);
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() releases its owner when the call itself rejects", async () => {
  const call = pending();
  const result = abortable(call);
  call.reject(new Error("no thread"));
  await assertRejects(() => result, Error, "no thread");
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() rejects and releases its owner when the call cannot start", async () => {
  const call = pending();
  const start = () => {
    throw new Error("no such verb");
  };
  await assertRejects(() => abortable({ ...call, start }), Error, "no such verb");
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abortable() rejects when its owner only looks like a resource, and runs later calls", async () => {
  for (let i = 0; i < 20; i++) {
    const call = pending();
    const owner = new Proxy(call.owner, {});
    await assertRejects(() => abortable({ ...call, owner }), TypeError);
    assertSpyCalls(call.start, 0);
  }
  const call = pending();
  const result = abortable(call);
  call.resolve(21);
  assertEquals(await result, 42);
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

Deno.test("signalOf() refuses what is not an AbortSignal", () => {
  const { signal } = new AbortController();
  assertEquals([signalOf(), signalOf({}), signalOf({ signal })], [undefined, undefined, signal]);
  assertThrows(
    () => signalOf({ signal: new AbortController() as unknown as AbortSignal }),
    TypeError,
    "Cannot use signal an object: it is not an AbortSignal",
  );
  for (const options of [null, 5, { sginal: signal }]) {
    assertThrows(() => signalOf(options as { signal?: AbortSignal }), TypeError);
  }
});

Deno.test("orAborted() ends the wait when the signal aborts, and not the promise", async () => {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<number>();
  const waiting = orAborted(promise, controller.signal);
  controller.abort();
  await assertRejects(() => waiting, DOMException);
  const other = orAborted(promise, new AbortController().signal);
  resolve(5);
  assertEquals(await other, 5);
});

/** A signal, and how many listeners it has. */
function countedSignal(): { readonly signal: AbortSignal; readonly listeners: () => number } {
  const { signal } = new AbortController();
  const added = spy(signal, "addEventListener");
  const removed = spy(signal, "removeEventListener");
  return { signal, listeners: () => added.calls.length - removed.calls.length };
}

Deno.test("abortable() and orAborted() leave no listener on a signal that lives on", async () => {
  const { signal, listeners } = countedSignal();
  const call = pending(signal);
  const result = abortable(call);
  assertEquals(listeners(), 1);
  call.resolve(1);
  await result;
  assertEquals(listeners(), 0);
  const shared = Promise.withResolvers<void>();
  const wait = orAborted(shared.promise, signal);
  assertEquals(listeners(), 1);
  shared.resolve();
  await wait;
  assertEquals(listeners(), 0);
});
