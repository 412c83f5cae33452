// The lifetime tree, with resources that hold nothing.
import { assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "@std/assert";
import type { Handle } from "../../../ffi/handles.ts";
import { type NativeKind, NativeResource } from "../../../types/core/native_resource.ts";
import {
  assertOpen,
  destroyIfUnused,
  disposals,
  kindOf,
  release,
  Resource,
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

Deno.test("Resource.close() destroys children before their parents, newest first", () => {
  const { log, parent } = family();
  parent.close();
  assertEquals(log, ["two", "grandchild", "one", "parent"]);
});

Deno.test("Resource.close() keeps the parents open", () => {
  const { log, parent, one, two, grandchild } = family();
  one.close();
  assertEquals(log, ["grandchild", "one"]);
  assertEquals([parent.disposed, two.disposed], [false, false]);
  assertEquals([one.disposed, grandchild.disposed], [true, true]);
  parent.close();
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("Resource.close() does nothing when called again", () => {
  const { log, parent } = family();
  parent.close();
  parent.close();
  parent[Symbol.dispose]();
  assertEquals(log.length, 4);
});

Deno.test("Resource is disposed at the end of its block", () => {
  const { log, parent } = family();
  {
    using _ = parent;
    assertEquals(log, []);
  }
  assertEquals(log.length, 4);
});

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

Deno.test("Resource given the same parent twice is destroyed once", () => {
  const log: string[] = [];
  const parent = new Thing(log, "parent");
  new Thing(log, "child", parent, parent);
  parent.close();
  assertEquals(log, ["child", "parent"]);
});

Deno.test("Resource.unsafeHandle throws when the resource is disposed, by itself or with its parent", () => {
  const { parent, grandchild } = family();
  assertEquals(typeof grandchild.unsafeHandle, "object");
  parent.close();
  for (const gone of [parent, grandchild]) {
    assertThrows(() => gone.unsafeHandle, TypeError, "Cannot use thing: it is disposed");
  }
});

Deno.test("Resource.close() can be called again when destroying failed", () => {
  const { log, parent, two } = family();
  two.failures = 1;
  const error = assertThrows(() => parent.close(), Error);
  assertEquals(error.message, "two");
  assertEquals(parent.disposed, true);
  // The other children are destroyed, and the parent waits for the child that is left.
  assertEquals(log, ["grandchild", "one"]);
  parent.close();
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("Resource.close() continues when a child fails, and reports every failure", () => {
  const { log, parent, one, two } = family();
  one.failures = 1;
  two.failures = 1;
  const error = assertThrows(() => parent.close());
  assertInstanceOf(error, SuppressedError);
  assertEquals([(error.error as Error).message, (error.suppressed as Error).message], [
    "one",
    "two",
  ]);
  assertEquals(log, ["grandchild"]);
  parent.close();
  assertEquals(log, ["grandchild", "two", "one", "parent"]);
});

Deno.test("Resource.close() of a child that failed destroys its disposed parent too", () => {
  const { log, parent, two } = family();
  two.failures = 1;
  assertThrows(() => parent.close());
  two.close();
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("release() destroys a resource that was disposed while it was retained", () => {
  const { log, parent, one } = family();
  retain(one);
  retain(one);
  parent.close();
  assertEquals([one.disposed, parent.disposed], [true, true]);
  assertEquals(log, ["two", "grandchild"]);
  release(one);
  assertEquals(log, ["two", "grandchild"]);
  release(one);
  assertEquals(log, ["two", "grandchild", "one", "parent"]);
});

Deno.test("release() keeps a resource that is open", () => {
  const { log, one } = family();
  retain(one);
  release(one);
  assertEquals([log, one.disposed], [[], false]);
});

Deno.test("destroyIfUnused() destroys a resource that was disposed while it was in use", () => {
  const { log, parent, two } = family();
  two.inUse = true;
  parent.close();
  assertEquals(log, ["grandchild", "one"]);
  destroyIfUnused(two);
  assertEquals(log, ["grandchild", "one"]);
  two.inUse = false;
  destroyIfUnused(two);
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("destroyIfUnused() keeps a resource that is open", () => {
  const { log, two } = family();
  destroyIfUnused(two);
  assertEquals([log, two.disposed], [[], false]);
});

Deno.test("destroyIfUnused() leaves a failure to the next close()", () => {
  const { log, two } = family();
  two.inUse = true;
  two.close();
  two.inUse = false;
  two.failures = 1;
  destroyIfUnused(two);
  assertEquals(log, []);
  two.close();
  assertEquals(log, ["two"]);
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

Deno.test("assertOpen() and kindOf() name the kind of the resource", () => {
  const { one } = family();
  assertOpen(one);
  assertEquals(kindOf(one), "thing");
  one.close();
  assertThrows(() => assertOpen(one), TypeError, "Cannot use thing: it is disposed");
});

Deno.test("Resource shows its class and attributes on one line", () => {
  const { one } = family();
  assertEquals(Deno.inspect(one), 'Thing { name: "one" }');
  assertEquals(Deno.inspect([one]), '[ Thing { name: "one" } ]');
  one.close();
  assertEquals(Deno.inspect(one), "Thing { disposed }");
});

Deno.test("Resource without a native handle is destroyed through its kind", () => {
  const log: string[] = [];
  class Plain extends Resource {
    constructor(parent: Resource) {
      super({ name: "plain", destroy: () => log.push("plain") }, [parent]);
    }
  }
  const { parent } = family();
  new Plain(parent);
  parent.close();
  assertEquals(log, ["plain"]);
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
