// The same tests pass with the real @std/testing and with tools/std/mock.ts.

import { assertEquals, AssertionError, assertStrictEquals, assertThrows } from "@std/assert";
import { assertSpyCall, assertSpyCalls, MockError, spy, stub } from "@std/testing/mock";

class Counter {
  count = 0;

  add(by: number): number {
    return this.count += by;
  }
}

Deno.test("spy() records arguments, results and errors of a function", () => {
  const half = spy((n: number): number => {
    if (n % 2) throw new RangeError("odd");
    return n / 2;
  });
  assertEquals(half(4), 2);
  assertThrows(() => half(3), RangeError);
  assertSpyCalls(half, 2);
  assertSpyCall(half, 0, { args: [4], returned: 2 });
  assertSpyCall(half, 1, { error: { Class: RangeError, msgIncludes: "odd" } });
});

Deno.test("spy() without a function returns undefined", () => {
  const nothing = spy();
  assertEquals(nothing(1, 2), undefined);
  assertEquals(nothing.calls[0]?.args, [1, 2]);
});

Deno.test("spy() of a method calls it and gives it back when disposed of", () => {
  const counter = new Counter();
  const original = counter.add;
  {
    using add = spy(counter, "add");
    assertEquals(counter.add(2), 2);
    assertSpyCall(add, 0, { args: [2], self: counter, returned: 2 });
    assertThrows(() => spy(counter, "add"), MockError);
  }
  assertStrictEquals(counter.add, original);
  assertEquals(Object.hasOwn(counter, "add"), false);
});

Deno.test("stub() replaces a method until it is restored, once", () => {
  const counter = new Counter();
  const add = stub(counter, "add", () => 7);
  assertEquals(counter.add(1), 7);
  assertEquals(counter.count, 0);
  assertEquals(add.restored, false);
  add.restore();
  assertEquals(add.restored, true);
  assertEquals(counter.add(1), 1);
  assertThrows(() => add.restore(), MockError);
});

Deno.test("stub() without a function does nothing and returns undefined", () => {
  const counter = new Counter();
  using add = stub(counter, "add");
  assertEquals(counter.add(1) as number | undefined, undefined);
  assertSpyCalls(add, 1);
});

Deno.test("the spy assertions throw on other counts, arguments and outcomes", () => {
  const twice = spy((n: number): number => 2 * n);
  twice(1);
  const failing = [
    (): void => assertSpyCalls(twice, 2),
    (): void => assertSpyCall(twice, 1),
    (): void => assertSpyCall(twice, 0, { args: [2] }),
    (): void => assertSpyCall(twice, 0, { returned: 3 }),
    (): void => assertSpyCall(twice, 0, { self: {} }),
    (): void => assertSpyCall(twice, 0, { error: {} }),
  ];
  for (const assertion of failing) assertThrows(assertion, AssertionError);
});
