// Calls that cannot be stopped: however the wait for one ends, its outcome is used or discarded, once.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import type { Handle } from "../../ffi/handles.ts";
import { abandonable } from "../../types/abandonable.ts";
import { Resource } from "../../types/resource.ts";

class Owner extends Resource {
  protected override readonly kind = "owner";
  destroyed = 0;

  constructor() {
    super({} as Handle, []);
  }

  protected override destroy(): void {
    this.destroyed++;
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

Deno.test("abandonable() gives what finish() makes of the outcome", async () => {
  const call = pending();
  const result = abandonable(call);
  call.resolve(21);
  assertEquals(await result, 42);
  assertSpyCalls(call.discard, 0);
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() rejects with what finish() throws", async () => {
  const call = pending();
  const finish = () => {
    throw new RangeError("no");
  };
  const result = abandonable({ ...call, finish });
  call.resolve(1);
  await assertRejects(() => result, RangeError, "no");
  assertSpyCalls(call.discard, 0);
});

Deno.test("abandonable() starts nothing when the signal has aborted before", async () => {
  const reason = new Error("enough");
  const call = pending(AbortSignal.abort(reason));
  assertEquals(await abandonable(call).catch((error) => error), reason);
  assertSpyCalls(call.start, 0);
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() rejects at once when the signal aborts, and discards the outcome later", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abandonable(call);
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

Deno.test("abandonable() discards when the signal aborts in the turn in which the call ends", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abandonable(call);
  call.resolve(7);
  controller.abort();
  await assertRejects(() => result, DOMException);
  await turn();
  assertSpyCalls(call.finish, 0);
  assertSpyCalls(call.discard, 1);
});

Deno.test("abandonable() keeps the result when the signal aborts afterwards", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abandonable(call);
  call.resolve(1);
  assertEquals(await result, 2);
  controller.abort();
  await turn();
  assertSpyCalls(call.discard, 0);
});

Deno.test("abandonable() keeps its owner until the call ends, and discards when that was disposed", async () => {
  const call = pending();
  const result = abandonable(call);
  call.owner.close();
  assertEquals([call.owner.disposed, call.owner.destroyed], [true, 0]);
  call.resolve(3);
  await assertRejects(() => result, TypeError, "its owner was disposed meanwhile");
  assertSpyCalls(call.finish, 0);
  assertSpyCalls(call.discard, 1);
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() discards before its owner is destroyed", async () => {
  const call = pending();
  let destroyedThen: number | undefined;
  const discard = () => {
    destroyedThen = call.owner.destroyed;
  };
  const result = abandonable({ ...call, discard });
  call.owner.close();
  call.resolve(3);
  await assertRejects(() => result);
  assertEquals([destroyedThen, call.owner.destroyed], [0, 1]);
});

Deno.test("abandonable() discards once when the signal aborts and the owner is disposed", async () => {
  const controller = new AbortController();
  const call = pending(controller.signal);
  const result = abandonable(call);
  controller.abort();
  call.owner.close();
  await assertRejects(() => result, DOMException);
  call.resolve(3);
  await turn();
  assertSpyCalls(call.discard, 1);
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() holds its owner no longer when its result is seen", async () => {
  const call = pending();
  const result = abandonable(call);
  call.resolve(1);
  await result;
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() lets its owner go when the call itself rejects", async () => {
  const call = pending();
  const result = abandonable(call);
  call.reject(new Error("no thread"));
  await assertRejects(() => result, Error, "no thread");
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});

Deno.test("abandonable() does not hold its owner when the call cannot start", () => {
  const call = pending();
  const start = () => {
    throw new Error("no such verb");
  };
  assertThrows(() => abandonable({ ...call, start }), Error, "no such verb");
  call.owner.close();
  assertEquals(call.owner.destroyed, 1);
});
