// The adapters of tools/std: where they add to what they adapt. The real packages pass these tests too.

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
import { parseArgs } from "@std/cli/parse-args";
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

function partsOf(buffer: ArrayBuffer): [DataView, DataView] {
  return [new DataView(buffer, 0, 1), new DataView(buffer, 1, 1)];
}

/** Adds a property that is not enumerable. */
function hide<T extends object>(object: T, key: PropertyKey): T {
  return Object.defineProperty(object, key, { value: 1 });
}

const equalPairs: [what: string, a: unknown, b: unknown][] = [
  ["0 and -0", { a: [0] }, { a: [-0] }],
  ["objects with and without a prototype", { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
  ["objects whose getters agree", [new Hidden([1])], [new Hidden([1])]],
  ["views of the same bytes", new Uint8Array([9, 1]).subarray(1), new Uint8Array([1])],
  ["buffers of the same bytes", new Uint8Array([7]).buffer, new Uint8Array([7]).buffer],
  ["maps and sets of such objects", new Map([[1, new Set([-0])]]), new Map([[1, new Set([0])]])],
  ["objects that hold themselves", circle, otherCircle],
  ["addresses", new URL("http://a/1"), new URL("http://a/1")],
  ["NaN", { a: [NaN] }, { a: [NaN] }],
  ["typed arrays with 0 and -0, and with NaN", Float64Array.of(0, NaN), Float64Array.of(-0, NaN)],
  ["dates that are none", new Date(NaN), new Date(NaN)],
  ["properties that are not enumerable", {}, hide({}, "a")],
  ["symbol keys of the same values", { [KEY]: [1] }, { [KEY]: [1] }],
  ["maps by keys that are objects", new Map([[{ a: 1 }, [2]]]), new Map([[{ a: 1 }, [2]]])],
  ["sets in another order", new Set([1, { a: 1 }]), new Set([{ a: 1 }, 1])],
  ["weak references to the same values", new WeakRef({ a: 1 }), new WeakRef({ a: 1 })],
  ["patterns", /a/g, /a/g],
];

for (const [what, a, b] of equalPairs) {
  Deno.test(`assertEquals() passes on ${what}`, () => {
    assertEquals(a, b);
    assertThrows(() => assertNotEquals(a, b), AssertionError);
  });
}

const unequalPairs: [what: string, a: unknown, b: unknown][] = [
  ["a number and a bigint", 1, 1n],
  ["a property undefined and one absent", { a: undefined }, {}],
  ["objects whose getters differ", { a: new Hidden([1]) }, { a: new Hidden([2]) }],
  ["objects whose inherited getters differ", new Heir(1), new Heir(2)],
  ["an array and a typed array", [1], new Uint8Array([1])],
  ["typed arrays of two types", new Uint8Array([1]), new Int8Array([1])],
  ["buffers", new Uint8Array([7]).buffer, new Uint8Array([8]).buffer],
  ["addresses", new URL("http://a/1"), new URL("http://a/2")],
  ["errors", new Error("a"), new Error("b")],
  ["errors of the same message, made at two places", new Error("a"), new Error("a")],
  ["symbol keys", { [KEY]: 1 }, { [KEY]: 2 }],
  ["symbol keys of which one is absent", { [KEY]: 1 }, {}],
  ["symbol keys of a class", hide(new Hidden(1), KEY), new Hidden(1)],
  ["hidden properties of a class", hide(new Hidden(1), "a"), new Hidden(1)],
  ["symbol keys, undefined and absent", { [KEY]: undefined }, {}],
  ["functions that read the same", () => 1, () => 1],
  ["objects of two classes", new Hidden(1), new Heir(1)],
  ["objects of a class and plain ones", new Hidden(1), { value: 1 }],
  ["a hole and undefined", new Array(1), [undefined]],
  [
    "maps with an undefined value and without",
    new Map([[1, undefined]]),
    new Map([[2, undefined]]),
  ],
  ["maps that share a key", new Map([[circle, 1]]), new Map([[circle, 2]])],
  ["values of maps", new Map([[1, [1]]]), new Map([[1, [2]]])],
  ["sets", new Set([{ a: 1 }]), new Set([{ a: 2 }])],
  ["views of two parts of a buffer", ...partsOf(new ArrayBuffer(2))],
  ["weak references", new WeakRef(circle), new WeakRef(assert)],
  ["patterns", /a/, /a/g],
  ["blobs", new Blob(["a"]), new Blob(["b"])],
  ["null and an object", null, {}],
];

for (const [what, a, b] of unequalPairs) {
  Deno.test(`assertEquals() throws on unequal ${what}`, () => {
    const error = assertThrows(() => assertEquals(a, b, "of the queue"), AssertionError);
    assertStringIncludes(error.message, "of the queue");
    assertNotEquals(a, b);
  });
}

Deno.test("assertEquals() compares no WeakMap and no WeakSet", () => {
  const pairs = [[new WeakMap(), new WeakMap()], [new WeakSet(), new WeakSet()]];
  for (const [a, b] of pairs) {
    assertThrows(() => assertEquals(a, b), TypeError, "annot compare");
  }
});

Deno.test("assertThrows() returns what is thrown, or fails", () => {
  const error = new RangeError("Cannot post 3 work requests: 2 fit");
  const raise = (): never => {
    throw error;
  };
  assertStrictEquals(assertThrows(raise), error);
  assertStrictEquals(assertThrows(raise, RangeError, "2 fit"), error);
  assertThrows(() => assertThrows(() => 1), AssertionError);
  assertThrows(() => assertThrows(raise, TypeError), AssertionError);
  assertThrows(() => assertThrows(raise, RangeError, "3 fit"), AssertionError);
  const raiseText = () => {
    throw "text";
  };
  assertEquals(assertThrows(raiseText), "text");
  assertThrows(() => assertThrows(raiseText, Error), AssertionError);
});

Deno.test("assertRejects() fails on a resolution, a synchronous throw and no promise", async () => {
  const failing: (() => PromiseLike<unknown>)[] = [
    () => Promise.resolve(1),
    () => {
      throw new RangeError("synchronous");
    },
    (() => 1) as unknown as () => Promise<unknown>,
  ];
  for (const fn of failing) await assertRejects(() => assertRejects(fn), AssertionError);
  const reject = () => Promise.reject(new RangeError("late"));
  assertEquals((await assertRejects(reject, RangeError, "late")).message, "late");
  await assertRejects(() => assertRejects(reject, TypeError), AssertionError);
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

const declared = {
  boolean: ["help", "fast"],
  string: ["_", "port", "device"],
  alias: { h: "help", port: "p" },
  default: { port: "1" },
} as const;

Deno.test("parseArgs() gives text, flags, defaults and operands", () => {
  const { help, fast, port, device, _ } = parseArgs(
    ["12", "-h", "-p", "010", "--device=", "x"],
    declared,
  );
  assertEquals([help, fast, port, device, _], [true, false, "010", "", ["12", "x"]]);
  assertEquals([parseArgs([], declared).port, parseArgs([], declared).device], ["1", undefined]);
});

Deno.test("parseArgs() takes no option for the value of an option", () => {
  const { help, port, device } = parseArgs(["--port", "--help", "--device"], declared);
  assertEquals([help, port, device], [true, "", ""]);
});

Deno.test("parseArgs() asks about each unknown argument", () => {
  const asked: string[] = [];
  const unknown = (argument: string): boolean => {
    asked.push(argument);
    return !argument.startsWith("-");
  };
  const { _ } = parseArgs(["file", "--bad=2", "-x"], { ...declared, unknown });
  assertEquals([asked, _], [["file", "--bad=2", "-x"], ["file"]]);
});
