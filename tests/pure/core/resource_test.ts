// The lifetime tree, with resources that hold nothing.
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import type { Handle } from "../../../ffi/handles.ts";
import { type NativeKind, NativeResource } from "../../../types/core/native_resource.ts";
import {
  destroyIfUnused,
  disposals,
  isResource,
  release,
  type Resource,
  retain,
  rootOf,
} from "../../../types/core/resource.ts";

const HANDLE = {} as Handle;

class Thing extends NativeResource {
  static readonly #kind: NativeKind<Handle, Thing> = {
    name: "thing",
    isInUse: (thing) => thing.inUse,
    closing: (thing) => thing.closings++,
    destroy: (handle, thing) => {
      assertStrictEquals(handle, HANDLE);
      if (thing.failures-- > 0) throw new Error(thing.#name);
      thing.#log.push(thing.#name);
    },
    describe: (thing) => ({ name: thing.#name }),
  };
  readonly #name: string;
  readonly #log: string[];
  closings = 0;
  /** Makes destroying it fail that many times. */
  failures = 0;
  inUse = false;

  constructor(log: string[], name: string, ...parents: Resource[]) {
    super(Thing.#kind, HANDLE, parents);
    this.#name = name;
    this.#log = log;
  }
}

function family(): { log: string[]; parent: Thing; one: Thing; two: Thing; grandchild: Thing } {
  const log: string[] = [];
  const parent = new Thing(log, "parent");
  const one = new Thing(log, "one", parent);
  const grandchild = new Thing(log, "grandchild", one);
  const two = new Thing(log, "two", parent);
  return { log, parent, one, two, grandchild };
}

/**
 * What happens to a family. Behind "!" stand the messages of the error, and behind "=" what the step destroys. The step "1 two"
 * makes destroying it fail once.
 */
const STORIES = [
  // Children before their parents, newest first, and once.
  "close parent = two grandchild one parent, close parent, dispose parent",
  "close one = grandchild one, close parent = two parent",
  // The other children are destroyed, and the parent waits for the child that is left.
  "1 two, close parent ! two = grandchild one, close parent = two parent",
  "1 two, close parent ! two = grandchild one, close two = two parent",
  "1 one, 1 two, close parent ! one two = grandchild, close parent = two one parent",
  // What is retained or in use is destroyed later.
  "retain one, retain one, close parent = two grandchild, release one, release one = one parent",
  "retain one, release one",
  "use two, close parent = grandchild one, check two, leave two, check two = two parent",
  "check two",
  // A failure is left to the next close().
  "use two, close two, leave two, 1 two, check two, close two = two",
];

const ACTIONS: Record<string, (thing: Thing) => void> = {
  close: (thing) => thing.close(),
  dispose: (thing) => thing[Symbol.dispose](),
  retain,
  release,
  use: (thing) => thing.inUse = true,
  leave: (thing) => thing.inUse = false,
  check: destroyIfUnused,
  1: (thing) => thing.failures = 1,
};

/** The messages of an error and of those that it suppressed. */
function messagesOf(error: unknown): string[] {
  if (error instanceof SuppressedError) return [error.error, error.suppressed].flatMap(messagesOf);
  return [(error as Error).message];
}

for (const story of STORIES) {
  Deno.test(`Resource: ${story}`, () => {
    const { log, ...things } = family();
    const seen = story.split(", ").map((step) => {
      const [action, name] = step.split(" ") as [string, keyof typeof things];
      log.length = 0;
      let failures = "";
      try {
        ACTIONS[action]!(things[name]);
      } catch (error) {
        failures = ` ! ${messagesOf(error).join(" ")}`;
      }
      if (/close|dispose/.test(action)) assertEquals(things[name].disposed, true);
      return `${action} ${name}${failures}${log.length > 0 ? ` = ${log.join(" ")}` : ""}`;
    });
    assertEquals(seen.join(", "), story);
    assertEquals(things.parent.disposed, story.includes("close parent"));
  });
}

Deno.test("Resource with two parents is disposed with whichever is disposed first", () => {
  for (const first of [0, 1]) {
    const log: string[] = [];
    const parents = [new Thing(log, "0"), new Thing(log, "1")];
    new Thing(log, "child", ...parents);
    parents[first]!.close();
    assertEquals(log, ["child", String(first)]);
    parents[1 - first]!.close();
    assertEquals(log, ["child", String(first), String(1 - first)]);
  }
});

Deno.test("Resource.unsafeHandle throws when the resource is disposed, by itself or with its parent", () => {
  const { parent, grandchild } = family();
  assertEquals(typeof grandchild.unsafeHandle, "object");
  parent.close();
  for (const gone of [parent, grandchild]) {
    assertThrows(() => gone.unsafeHandle, TypeError, "Cannot use thing: it is disposed");
  }
});

Deno.test("Resource.close() raises the number of disposals and runs closing() once", () => {
  const { parent, one } = family();
  const before = disposals.count;
  one.failures = 1;
  assertThrows(() => one.close());
  one.close();
  one.close();
  assertEquals(one.closings, 1);
  assertEquals(disposals.count > before, true);
  assertEquals(parent.closings, 0);
});

Deno.test("Resource with two parents fails once when both are disposed with their own parent", () => {
  const log: string[] = [];
  const root = new Thing(log, "root");
  const parents = [new Thing(log, "0", root), new Thing(log, "1", root)];
  const child = new Thing(log, "child", ...parents);
  child.failures = 2;
  const error = assertThrows(() => root.close(), Error, "child");
  assertEquals(error.constructor, Error);
  assertEquals([child.failures, log.length], [1, 0]);
  assertThrows(() => root.close(), Error, "child");
  root.close();
  assertEquals(log.toSorted(), ["0", "1", "child", "root"]);
});

Deno.test("Resource.close() keeps the order of children when some between them are gone", () => {
  const log: string[] = [];
  const parent = new Thing(log, "parent");
  const child = (name: string): Thing => new Thing(log, name, parent);
  const [, b, , d] = ["a", "b", "c", "d"].map(child);
  b!.close();
  d!.close();
  child("e");
  parent.close();
  assertEquals(log, ["b", "d", "e", "c", "a", "parent"]);
});

Deno.test("rootOf() gives what a resource was made from first of all", () => {
  const { parent, grandchild } = family();
  assertStrictEquals(rootOf(grandchild), parent);
  assertStrictEquals(rootOf(new Thing([], "child", grandchild, new Thing([], "other"))), parent);
  assertStrictEquals(rootOf(parent), parent);
});

Deno.test("isResource() takes no object that only looks like a resource", () => {
  const { parent } = family();
  assertEquals([parent, new Proxy(parent, {}), {}].map(isResource), [true, false, false]);
});
