// The same tests pass with the real @std/assert and with tools/std/assert.ts.

import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  assertExists,
  assertFalse,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertIsError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
  unreachable,
} from "@std/assert";

class Hidden {
  readonly #value: number;

  constructor(value: number) {
    this.#value = value;
  }

  get value(): number {
    return this.#value;
  }
}

class Plain {
  readonly a = 1;
}

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
const otherCyclic: { self?: unknown } = {};
otherCyclic.self = otherCyclic;

const equalPairs: [what: string, a: unknown, b: unknown][] = [
  ["NaN", NaN, NaN],
  ["0 and -0", 0, -0],
  ["bigints", 10n ** 20n, 10n ** 20n],
  ["typed arrays", new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  ["views at other offsets", new Uint8Array([9, 1, 2]).subarray(1), new Uint8Array([1, 2])],
  ["floats in arrays", new Float64Array([NaN, 0]), new Float64Array([NaN, -0])],
  ["buffers", new Uint8Array([7]).buffer, new Uint8Array([7]).buffer],
  ["nested objects", { a: [{ b: 1n }] }, { a: [{ b: 1n }] }],
  ["keys in another order", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ["an object without prototype", { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
  ["maps in another order", new Map([[1, "a"], [2, "b"]]), new Map([[2, "b"], [1, "a"]])],
  ["maps with object keys", new Map([[{ k: 1 }, [1]]]), new Map([[{ k: 1 }, [1]]])],
  ["sets of objects", new Set([{ a: 1 }, { a: 2 }]), new Set([{ a: 2 }, { a: 1 }])],
  ["dates", new Date(5), new Date(5)],
  ["expressions", /a/g, /a/g],
  ["expressions at other places", /a/g, Object.assign(/a/g, { lastIndex: 1 })],
  ["instances of a class", new Plain(), new Plain()],
  ["instances with equal getters", new Hidden(1), new Hidden(1)],
  ["cyclic objects", cyclic, otherCyclic],
];

const unequalPairs: [what: string, a: unknown, b: unknown][] = [
  ["a number and its text", 1, "1"],
  ["a number and a bigint", 1, 1n],
  ["null and undefined", null, undefined],
  ["a property undefined and one absent", { a: undefined }, {}],
  ["two different absent properties", { a: undefined }, { b: undefined }],
  ["arrays of other lengths", [1], [1, 2]],
  ["an array and a typed array", [1], new Uint8Array([1])],
  ["typed arrays of other types", new Uint8Array([1]), new Int8Array([1])],
  ["typed array elements", new Uint8Array([1]), new Uint8Array([2])],
  ["buffers", new Uint8Array([7]).buffer, new Uint8Array([8]).buffer],
  ["views", new DataView(new ArrayBuffer(1)), new DataView(new ArrayBuffer(2))],
  ["map values", new Map([[1, "a"]]), new Map([[1, "b"]])],
  ["map keys", new Map([[1, undefined]]), new Map([[2, undefined]])],
  ["properties of maps", new Map(), Object.assign(new Map(), { a: 1 })],
  ["sets", new Set([1]), new Set([2])],
  ["dates", new Date(5), new Date(6)],
  ["expressions", /a/g, /a/i],
  ["addresses", new URL("http://a/1"), new URL("http://a/2")],
  ["a class and a plain object", new Plain(), { a: 1 }],
  ["instances with other getters", new Hidden(1), new Hidden(2)],
  ["symbol properties", { [Symbol.iterator]: 1 }, { [Symbol.iterator]: 2 }],
  ["functions", () => 1, () => 1],
];

for (const [what, a, b] of equalPairs) {
  Deno.test(`assertEquals() passes on ${what}`, () => {
    assertEquals(a, b);
    assertEquals(b, a);
    assertThrows(() => assertNotEquals(a, b), AssertionError);
  });
}

for (const [what, a, b] of unequalPairs) {
  Deno.test(`assertEquals() throws on unequal ${what}`, () => {
    assertThrows(() => assertEquals(a, b), AssertionError);
    assertThrows(() => assertEquals(b, a), AssertionError);
    assertNotEquals(a, b);
  });
}

Deno.test("assertEquals() throws its own class and the caller's message when values differ", () => {
  const error = assertThrows(() => assertEquals(1, 2, "of the queue"), AssertionError);
  assertEquals(error.name, "AssertionError");
  assertInstanceOf(error, Error);
  assertStringIncludes(error.message, "of the queue");
});

Deno.test("assertEquals() refuses to compare weak collections", () => {
  assertThrows(() => assertEquals(new WeakMap(), new WeakMap()), TypeError);
});

Deno.test("assert() and assertFalse() go by truthiness", () => {
  for (const value of [1, "0", {}, [], -1n]) {
    assert(value);
    assertThrows(() => assertFalse(value, "no"), AssertionError, "no");
  }
  for (const value of [0, "", null, undefined, NaN, 0n]) {
    assertFalse(value);
    assertThrows(() => assert(value, "no"), AssertionError, "no");
  }
});

Deno.test("assertStrictEquals() is Object.is", () => {
  const object = {};
  assertStrictEquals(object, object);
  assertStrictEquals(NaN, NaN);
  assertThrows(() => assertStrictEquals({}, object), AssertionError);
  assertThrows(() => assertStrictEquals(0, -0), AssertionError);
  assertNotStrictEquals({}, object);
  assertNotStrictEquals(0, -0);
  assertThrows(() => assertNotStrictEquals(NaN, NaN), AssertionError);
});

Deno.test("assertExists() throws on null and undefined alone", () => {
  for (const value of [0, "", false, NaN]) assertExists(value);
  assertThrows(() => assertExists(null), AssertionError);
  assertThrows(() => assertExists(undefined), AssertionError);
});

Deno.test("assertInstanceOf() narrows and throws on another class", () => {
  const value: unknown = new Plain();
  assertInstanceOf(value, Plain);
  assertEquals(value.a, 1);
  assertThrows(() => assertInstanceOf(value, Hidden), AssertionError);
  assertThrows(() => assertInstanceOf(null, Hidden), AssertionError);
});

Deno.test("the order assertions take actual first", () => {
  assertGreater(2, 1);
  assertGreaterOrEqual(2n, 2n);
  assertLess(1, 2);
  assertLessOrEqual("a", "a");
  assertThrows(() => assertGreater(1, 1), AssertionError);
  assertThrows(() => assertGreaterOrEqual(1, 2), AssertionError);
  assertThrows(() => assertLess(1, 1), AssertionError);
  assertThrows(() => assertLessOrEqual(2, 1), AssertionError);
  assertThrows(() => assertGreater(NaN, NaN), AssertionError);
});

Deno.test("assertAlmostEquals() allows the tolerance and no more", () => {
  assertAlmostEquals(0.1 + 0.2, 0.3);
  assertAlmostEquals(1, 1.5, 0.5);
  assertAlmostEquals(NaN, NaN);
  assertThrows(() => assertAlmostEquals(1, 1.5, 0.4), AssertionError);
  assertThrows(() => assertAlmostEquals(1, 1.001), AssertionError);
  assertThrows(() => assertAlmostEquals(1, NaN), AssertionError);
});

Deno.test("the text assertions take the text first", () => {
  assertStringIncludes("queue pair", "pair");
  assertMatch("queue pair", /^q.*r$/);
  assertThrows(() => assertStringIncludes("pair", "queue pair"), AssertionError);
  assertThrows(() => assertMatch("queue", /pair/), AssertionError);
});

Deno.test("assertArrayIncludes() finds deeply equal elements", () => {
  assertArrayIncludes([{ a: 1 }, 2, NaN], [NaN, { a: 1 }]);
  assertThrows(() => assertArrayIncludes([1], [1, 2]), AssertionError);
});

Deno.test("assertThrows() returns what was thrown", () => {
  const error = new RangeError("Cannot post 3 work requests: 2 fit");
  const raise = (): never => {
    throw error;
  };
  assertStrictEquals(assertThrows(raise), error);
  assertStrictEquals(assertThrows(raise, RangeError, "2 fit"), error);
  assertStrictEquals(assertThrows(raise, "message"), error);
  assertStrictEquals(
    assertThrows(() => {
      throw 5;
    }),
    5,
  );
});

Deno.test("assertThrows() fails on no throw, another class and another message", () => {
  const raise = (): never => {
    throw new RangeError("Cannot post");
  };
  assertThrows(() => assertThrows(() => 1), AssertionError);
  assertThrows(() => assertThrows(raise, TypeError), AssertionError);
  assertThrows(() => assertThrows(raise, RangeError, "modify"), AssertionError);
  const raiseNumber = (): never => {
    throw 5;
  };
  assertThrows(() => assertThrows(raiseNumber, Error), AssertionError);
});

Deno.test("assertThrows() looks past the colours of a message", () => {
  assertThrows(
    () => {
      throw new Error("\x1b[31mred\x1b[0m line");
    },
    Error,
    "red line",
  );
});

Deno.test("assertRejects() resolves to the reason", async () => {
  const error = new RangeError("Cannot post");
  assertStrictEquals(await assertRejects(() => Promise.reject(error)), error);
  const typed = await assertRejects(() => Promise.reject(error), RangeError, "post");
  assertStrictEquals(typed.message, "Cannot post");
});

Deno.test("assertRejects() fails on a resolution, a synchronous throw and no promise", async () => {
  const failing: (() => PromiseLike<unknown>)[] = [
    () => Promise.resolve(1),
    () => {
      throw new Error("synchronous");
    },
    (() => 1) as unknown as () => Promise<unknown>,
  ];
  for (const fn of failing) {
    await assertRejects(() => assertRejects(fn), AssertionError);
  }
  await assertRejects(
    () => assertRejects(() => Promise.reject(new Error("a")), TypeError),
    AssertionError,
  );
});

Deno.test("assertIsError() checks class and message", () => {
  const error: unknown = new TypeError("bad key");
  assertIsError(error, TypeError, /key$/);
  assertThrows(() => assertIsError("bad key"), AssertionError);
  assertThrows(() => assertIsError(error, RangeError), AssertionError);
  assertThrows(() => assertIsError(error, TypeError, "good"), AssertionError);
});

Deno.test("fail() and unreachable() throw the caller's message", () => {
  assertThrows(() => fail("why"), AssertionError, "why");
  assertThrows(() => unreachable("where"), AssertionError, "where");
});

Deno.test("AssertionError keeps its cause", () => {
  const cause = new Error("inner");
  assertStrictEquals(new AssertionError("outer", { cause }).cause, cause);
});
