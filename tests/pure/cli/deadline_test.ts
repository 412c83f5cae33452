import { assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Deadline } from "../../../cli/pingpong/deadline.ts";

/** A clock that stands still unless it is told to run to the next timer. */
function fakeClock(): Disposable & { now: number; toNextTimer(): void } {
  const stack = new DisposableStack();
  let timer: { at: number; call: () => void } | undefined;
  const clock = {
    now: 0,
    toNextTimer(): void {
      const { at, call } = timer!;
      timer = undefined;
      clock.now = at;
      call();
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
  stack.use(stub(performance, "now", () => clock.now));
  stack.use(stub(
    globalThis,
    "setTimeout",
    ((call: () => void, delay: number) => {
      timer = { at: clock.now + delay, call };
      return 1;
    }) as never,
  ));
  return clock;
}

Deno.test("Deadline aborts its signal after the time", () => {
  using clock = fakeClock();
  using deadline = new Deadline(10, "Nobody answered");
  assertEquals(deadline.signal.aborted, false);
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.aborted], [10_000, true]);
  assertStringIncludes(deadline.signal.reason.message, "Nobody answered within 10 s");
});

Deno.test("Deadline.extend() gives exactly the whole time again", () => {
  using clock = fakeClock();
  let count = 0;
  using deadline = new Deadline(10, () => `After ${count} messages nobody answered`);
  for (const now of [3000, 9000]) {
    clock.now = now;
    count++;
    deadline.extend();
  }
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.aborted], [10_000, false]);
  clock.toNextTimer();
  assertEquals([clock.now, deadline.signal.aborted], [19_000, true]);
  assertStringIncludes(deadline.signal.reason.message, "After 2 messages");
});
