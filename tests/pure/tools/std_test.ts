// The adapters of tools/std: where they add to what they adapt. The real packages pass these tests too.

import { unicodeWidth } from "@std/cli/unicode-width";
import { ProgressBar } from "@std/cli/unstable-progress-bar";
import {
  assert,
  assertEquals,
  AssertionError,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertSpyCalls, spy, stub } from "@std/testing/mock";

class Hidden {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  get value(): unknown {
    return this.#value;
  }
}

class Heir extends Hidden {}

const circle: { self?: unknown } = {};
circle.self = circle;
const otherCircle: { self?: unknown } = {};
otherCircle.self = otherCircle;

const KEY = Symbol("key");

/** Adds a property that is not enumerable. */
function hide<T extends object>(object: T, key: PropertyKey): T {
  return Object.defineProperty(object, key, { value: 1 });
}

const equalPairs: [what: string, a: unknown, b: unknown][] = [
  ["0 and -0", { a: [0] }, { a: [-0] }],
  ["objects whose getters agree", [new Hidden([1])], [new Hidden([1])]],
  ["maps and sets of such objects", new Map([[1, new Set([-0])]]), new Map([[1, new Set([0])]])],
  ["objects that hold themselves", circle, otherCircle],
  ["NaN", { a: [NaN] }, { a: [NaN] }],
  ["typed arrays with NaN", Float64Array.of(0, NaN), Float64Array.of(0, NaN)],
  ["symbol keys of the same values", { [KEY]: [1] }, { [KEY]: [1] }],
];

const unequalPairs: [what: string, a: unknown, b: unknown][] = [
  ["a number and a bigint", 1, 1n],
  ["a property undefined and one absent", { a: undefined }, {}],
  ["objects whose getters differ", { a: new Hidden([1]) }, { a: new Hidden([2]) }],
  ["objects whose inherited getters differ", new Heir(1), new Heir(2)],
  ["errors of the same message, made at two places", new Error("a"), new Error("a")],
  ["symbol keys", { [KEY]: 1 }, { [KEY]: 2 }],
  ["symbol keys of which one is absent", { [KEY]: 1 }, {}],
  ["symbol keys of a class", hide(new Hidden(1), KEY), new Hidden(1)],
  ["hidden properties of a class", hide(new Hidden(1), "a"), new Hidden(1)],
  ["symbol keys, undefined and absent", { [KEY]: undefined }, {}],
  ["functions that read the same", () => 1, () => 1],
  ["objects of two classes", new Hidden(1), new Heir(1)],
];

for (const [pairs, areEqual] of [[equalPairs, true], [unequalPairs, false]] as const) {
  for (const [what, a, b] of pairs) {
    Deno.test(`assertEquals() takes ${what} for ${areEqual ? "equal" : "different"}`, () => {
      const both = [assertEquals, assertNotEquals];
      const [passes, fails] = areEqual ? both : both.reverse();
      passes!(a, b);
      const error = assertThrows(() => fails!(a, b, "of the queue"), AssertionError);
      assertStringIncludes(error.message, "of the queue");
    });
  }
}

Deno.test("assertThrows() and assertRejects() return what is thrown, or fail", async () => {
  const error = new RangeError("Cannot post 3 work requests: 2 fit");
  const raise = (): never => {
    throw error;
  };
  const raiseText = (): never => {
    throw "text";
  };
  assertStrictEquals(assertThrows(raise, RangeError, "2 fit"), error);
  assertEquals(assertThrows(raiseText), "text");
  const reject = () => Promise.reject(error);
  assertStrictEquals(await assertRejects(reject, RangeError, "2 fit"), error);
  for (
    const fails of [
      () => assertThrows(() => 1),
      () => assertThrows(raise, TypeError),
      () => assertThrows(raise, RangeError, "3 fit"),
      () => assertThrows(raiseText, Error),
    ]
  ) assertThrows(fails, AssertionError);
  for (
    const fails of [
      () => assertRejects(() => Promise.resolve(1)),
      () => assertRejects(raise),
      () => assertRejects((() => 1) as unknown as () => Promise<unknown>),
      () => assertRejects(reject, TypeError),
    ]
  ) await assertRejects(fails, AssertionError);
});

Deno.test("spy() and stub() record the calls of a method until they are disposed of", () => {
  const counter = {
    count: 1,
    get doubled(): () => number {
      return () => this.count * 2;
    },
    add(by: number): number {
      if (by < 0) throw new RangeError("negative");
      return this.count += by;
    },
  };
  const original = counter.add;
  {
    using add = spy(counter, "add");
    using doubled = stub(counter, "doubled", () => 7);
    assertEquals([counter.add(2), counter.doubled()], [3, 7]);
    assertThrows(() => counter.add(-1), RangeError);
    assertSpyCalls(add, 2);
    assertSpyCalls(doubled, 1);
    const [first, second] = add.calls;
    assertEquals([first?.args, first?.returned], [[2], 3]);
    assertStrictEquals(first?.self, counter);
    assert(second?.error instanceof RangeError);
  }
  assertStrictEquals(counter.add, original);
  assertEquals(counter.doubled(), 6);
});

Deno.test("unicodeWidth() counts columns", () => {
  assertEquals(["rxe0", "天地", "a\u0301", "🦕"].map(unicodeWidth), [4, 4, 1, 2]);
});

Deno.test("ProgressBar draws how far it is, until it is stopped", async () => {
  let drawn = "";
  const write = (bytes: Uint8Array): void => void (drawn += new TextDecoder().decode(bytes));
  for (const clear of [false, true]) {
    drawn = "";
    const bar = new ProgressBar({ max: 8, clear, writable: new WritableStream({ write }) });
    bar.value = 4;
    await bar.stop();
    assertStringIncludes(drawn, `[${"-".repeat(50)}]`);
    assertEquals(drawn.includes(`[${"#".repeat(25)}${"-".repeat(25)}]`), !clear);
    assertEquals(drawn.endsWith(clear ? "\r\x1b[K" : "\n"), true);
  }
});
