// Waits, and what ends them.
import {
  assertEquals,
  assertGreater,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { spy, stub } from "@std/testing/mock";
import { closeOnAbort, orAborted, signalOf } from "../../../wait/abort.ts";
import { Deadline } from "../../../wait/deadline.ts";
import { clock, timers } from "../../../wait/clock.ts";
import { inTurn, mayContinue, nextTurn } from "../../../wait/turns.ts";
import { state } from "../../../wait/state.ts";
import { Waiters } from "../../../wait/waiters.ts";

Deno.test("Waiters serves those who wait in order, and each once", async () => {
  const waiters = new Waiters<{ name: string }, number>();
  const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
  const waits = [a, b, c].map((waiter) => waiters.wait(waiter, undefined));
  assertEquals([waiters.size, waiters.first, waiters.all()], [3, a, [a, b, c]]);
  waiters.resolve(b, 2);
  waiters.reject(a, new Error("no"));
  assertEquals([waiters.size, waiters.first, waiters.all()], [1, c, [c]]);
  waiters.resolve(b, 5);
  waiters.reject({ name: "d" }, new Error("nobody"));
  assertEquals(waiters.all(), [c]);
  waiters.rejectAll(new Error("all"));
  assertEquals([waiters.size, waiters.first], [0, undefined]);
  await assertRejects(() => waits[0]!, Error, "no");
  assertEquals(await waits[1], 2);
  await assertRejects(() => waits[2]!, Error, "all");
});

Deno.test("Waiters ends a wait when its signal aborts, and forgets the signal when the wait ends", async () => {
  const waiters = new Waiters<object, number>();
  const abort = new AbortController();
  const { signal } = abort;
  using forgets = spy(signal, "removeEventListener");
  const [early, late, served] = [{}, {}, {}].map((waiter) => ({
    waiter,
    wait: waiters.wait(waiter, signal),
  }));
  waiters.resolve(served!.waiter, 1);
  assertEquals(await served!.wait, 1);
  assertEquals(forgets.calls.map(({ args }) => args[0]), ["abort"]);
  const reason = new Error("enough");
  abort.abort(reason);
  for (const { wait } of [early!, late!]) {
    assertStrictEquals(await assertRejects(() => wait, Error), reason);
  }
  assertStrictEquals(await assertRejects(() => waiters.wait({}, signal), Error), reason);
  assertEquals(waiters.size, 0);
});

Deno.test("Waiters ends a wait whose signal ends it while it is asked to listen", async () => {
  const cases: readonly [
    string,
    (waiters: Waiters<object, void>, abort: AbortController) => void,
  ][] = [
    ["closed", (waiters) => waiters.rejectAll(new Error("closed"))],
    ["aborted", (_, abort) => abort.abort(new Error("aborted"))],
    ["thrown", () => {
      throw new Error("thrown");
    }],
    ["closed", (waiters) => {
      waiters.rejectAll(new Error("closed"));
      throw new Error("thrown");
    }],
  ];
  for (const [message, listen] of cases) {
    const waiters = new Waiters<object, void>();
    const abort = new AbortController();
    const { signal } = abort;
    using _ = stub(signal, "addEventListener", () => listen(waiters, abort));
    await assertRejects(() => waiters.wait({}, signal), Error, message);
    assertEquals(waiters.size, 0, message);
  }
});

/** A clock that stands still unless it is asked to run to the next timer. */
function fakeClock(): Disposable & { now: number; toNextTimer(): void } {
  const stack = new DisposableStack();
  let timer: { at: number; call: () => void } | undefined;
  const fake = {
    now: 0,
    toNextTimer(): void {
      const { at, call } = timer!;
      timer = undefined;
      fake.now = at;
      call();
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
  stack.use(stub(clock, "precise", () => fake.now));
  stack.use(stub(
    timers,
    "setTimeout",
    ((call: () => void, delay: number) => {
      timer = { at: fake.now + delay, call };
      return 1;
    }) as never,
  ));
  return fake;
}

const late = (): Error => new Error("too late");

Deno.test("Deadline aborts its signal after the time", () => {
  using clock = fakeClock();
  using deadline = new Deadline(1000, late, [undefined, new AbortController().signal]);
  assertEquals(deadline.signal.aborted, false);
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.reason.message], [1000, "too late"]);
});

Deno.test("Deadline.extend() gives exactly the whole time again", () => {
  using clock = fakeClock();
  let count = 0;
  using deadline = new Deadline(10_000, () => new Error(`${count} messages`));
  for (const now of [3000, 9000]) {
    clock.now = now;
    count++;
    deadline.extend();
  }
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.aborted], [10_000, false]);
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.reason.message], [19_000, "2 messages"]);
});

Deno.test("Deadline aborts with each of its signals, and not after it was disposed", () => {
  using clear = spy(timers, "clearTimeout");
  const reason = new Error("enough");
  const abort = new AbortController();
  using first = new Deadline(1000, late, [undefined, abort.signal]);
  const disposed = new Deadline(1000, late, [abort.signal]);
  disposed[Symbol.dispose]();
  assertEquals(clear.calls.length, 1);
  abort.abort(reason);
  using after = new Deadline(1000, late, [abort.signal]);
  assertEquals([first, after].map(({ signal }) => signal.reason), [reason, reason]);
  assertEquals(disposed.signal.aborted, false);
});

Deno.test("Deadline starts no timer if a signal does not let it listen, and sees one that aborts then", () => {
  using set = spy(timers, "setTimeout");
  const abort = new AbortController();
  using listen = stub(abort.signal, "addEventListener", () => {
    throw new Error("no listener");
  });
  assertThrows(() => new Deadline(1000, late, [abort.signal]), Error, "no listener");
  assertEquals(set.calls.length, 0);
  listen.restore();
  using _ = stub(abort.signal, "addEventListener", () => abort.abort());
  using deadline = new Deadline(1000, late, [abort.signal]);
  assertEquals(deadline.signal.aborted, true);
});

Deno.test("signalOf() gives the signal of options, if there is one", () => {
  const { signal } = new AbortController();
  for (const given of [undefined, {}, { signal: undefined }]) {
    assertStrictEquals(signalOf(given), undefined);
  }
  assertStrictEquals(signalOf({ signal }), signal);
});

Deno.test("orAborted() ends with the promise or with the signal, and leaves no listener", async () => {
  const { signal } = new AbortController();
  using added = spy(signal, "addEventListener");
  using removed = spy(signal, "removeEventListener");
  assertEquals(await orAborted(Promise.resolve(1), signal), 1);
  await assertRejects(() => orAborted(Promise.reject(new Error("no")), signal), Error, "no");
  for (const { calls } of [added, removed]) {
    assertEquals(calls.map(({ args }) => args[0]), ["abort", "abort"]);
  }
  assertEquals(await orAborted(Promise.resolve(2), undefined), 2);
  const never = new Promise<never>(() => {});
  const reason = new Error("enough");
  const aborted = orAborted(never, AbortSignal.abort(reason));
  assertStrictEquals(await assertRejects(() => aborted, Error), reason);
  const abort = new AbortController();
  const wait = orAborted(never, abort.signal);
  abort.abort(reason);
  assertStrictEquals(await assertRejects(() => wait, Error), reason);
});

Deno.test("closeOnAbort() closes once, whether that fails or not, and not what was closed before", () => {
  let closes = 0;
  const object = {
    close: () => {
      closes++;
      throw new Error("it cannot be closed");
    },
  };
  closeOnAbort(object, undefined, new AbortController().signal);
  const [abort, closed, other] = Array.from({ length: 3 }, () => new AbortController());
  closeOnAbort(object, abort!.signal, closed!.signal);
  closeOnAbort(object, abort!.signal, other!.signal);
  other!.abort();
  abort!.abort();
  abort!.signal.dispatchEvent(new Event("abort"));
  assertEquals(closes, 1);
});

/** How often a loop goes on in each of three turns of the event loop, when each step takes a time. */
async function steps(milliseconds: number): Promise<number[]> {
  await nextTurn();
  let now = Date.now();
  using _clock = stub(clock, "now", () => Math.floor(now));
  using _watch = stub(clock, "precise", () => now);
  await nextTurn();
  const counts: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    let count = 0;
    while (mayContinue()) {
      count++;
      now += milliseconds;
    }
    counts.push(count);
    await nextTurn();
  }
  return counts;
}

Deno.test("mayContinue() lets quick steps follow each other for a millisecond, and few slow ones", async () => {
  assertEquals(await steps(0.125), [12, 8, 8]);
  assertEquals(await steps(10), [2, 2, 2]);
});

Deno.test("mayContinue() looks seldom at the clock while steps are quick, and lets few slow ones follow", async () => {
  await nextTurn();
  let now = Date.now() + 30_000;
  using looks = stub(clock, "now", () => Math.floor(now));
  using _watch = stub(clock, "precise", () => now);
  await nextTurn();
  const before = looks.calls.length;
  for (let quick = 0; quick < 500; quick++, now += 0.001) assertEquals(mayContinue(), true);
  assertGreater(500 / 3, looks.calls.length - before);
  let slow = 0;
  for (; mayContinue(); slow++) now += 10;
  assertGreater(10, slow);
  // After the wait no step is slow without a look.
  await nextTurn();
  for (slow = 0; mayContinue(); slow++) now += 10;
  assertEquals(slow, 2);
  await nextTurn();
});

Deno.test("mayContinue() ends a slice although the clocks stand still", async () => {
  for (const count of await steps(0)) {
    assertEquals(count > 1000 && count < 1e6, true, `${count} steps`);
  }
});

Deno.test("mayContinue() has one clock for all loops, and all go on in the next turn", async () => {
  let now = Date.now() + 10_000;
  using _clock = stub(clock, "now", () => now);
  using _watch = stub(clock, "precise", () => now);
  const order: string[] = [];
  const loop = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step++) {
      now += 10;
      order.push(name);
      if (!mayContinue()) await nextTurn();
    }
  };
  setImmediate(() => order.push("event loop"));
  await Promise.all([loop("a"), loop("b")]);
  assertEquals(order.slice(0, 4), ["a", "a", "b", "event loop"]);
  assertEquals(order.filter((name) => name === "a").length, 3);
});

Deno.test("inTurn() gives the result or the error of its call, in a later turn if this one has lasted", async () => {
  let now = Date.now() + 20_000;
  using _clock = stub(clock, "now", () => now);
  using _watch = stub(clock, "precise", () => now);
  assertEquals(await inTurn(() => 1), 1);
  for (const call of [() => 2, () => Promise.reject(new Error("refused"))]) {
    let hasTurned = false;
    while (mayContinue()) now += 10;
    nextTurn().then(() => hasTurned = true);
    const [end] = await Promise.allSettled([inTurn<unknown>(call)]);
    assertEquals(hasTurned, true, "the call ends in the same turn");
    assertEquals(
      end.status === "fulfilled" ? end.value : end.reason.message,
      end.status === "fulfilled" ? 2 : "refused",
    );
  }
});

Deno.test("nextTurn() lets a socket be served beside a loop that never ends", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const serving = (async () => {
    using served = await listener.accept();
    const request = new Uint8Array(1);
    while (await served.read(request) !== null) await served.write(request);
  })();
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  let turns = 0;
  let isOver = false;
  const loop = (async () => {
    while (!isOver) {
      if (mayContinue()) continue;
      await nextTurn();
      turns++;
    }
  })();
  const answer = new Uint8Array(1);
  const trips = 5;
  for (let i = 0; i < trips; i++) {
    await conn.write(Uint8Array.of(i));
    await conn.read(answer);
    assertEquals(answer[0], i);
  }
  // The event loop alone looks at sockets once in about 60 turns, and a trip needs two looks.
  assertGreater(trips * 80, turns);
  isOver = true;
  conn.close();
  await Promise.all([loop, serving]);
  listener.close();
});

Deno.test("Waiters.waitFirst() leaves out nobody whose wait a signal ends meanwhile", async () => {
  const waiters = new Waiters<{ name: string }, string>();
  const other = waiters.wait({ name: "other" }, undefined);
  const hostile = Object.assign(new AbortController().signal, {
    addEventListener: () => waiters.rejectAll(new Error("closed")),
  });
  const first = waiters.waitFirst({ name: "first" }, hostile);
  for (const wait of [other, first]) await assertRejects(() => wait, Error, "closed");
  assertEquals(waiters.size, 0);
});

Deno.test("Waiters.waitFirst() goes before those who wait, in their order", async () => {
  const waiters = new Waiters<{ name: string }, string>();
  for (const name of ["b", "c"]) void waiters.wait({ name }, undefined);
  void waiters.waitFirst({ name: "a" }, undefined);
  assertEquals(waiters.all().map(({ name }) => name), ["a", "b", "c"]);
  await undefined;
});

Deno.test("A turn that a loop has waited for reads a part of thousands of readers, each in its turn", async () => {
  const counts = Array.from({ length: 100 }, () => 0);
  const readers = counts.map((_, i) => (): void => void counts[i]!++);
  for (const read of readers) state.readers.add(read);
  for (let turn = 0; turn < 4; turn++) {
    while (mayContinue());
    const before = counts.reduce((sum, count) => sum + count);
    await nextTurn();
    assertEquals(counts.reduce((sum, count) => sum + count) - before, 32);
  }
  for (const read of readers) state.readers.delete(read);
  assertEquals(Math.max(...counts) - Math.min(...counts) <= 1, true);
});
