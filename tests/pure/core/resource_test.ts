// The rules of lifetime that all handles share, on handles of nothing.
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import type { Handle } from "../../ffi/handles.ts";
import { hold, reconsider, Resource, unhold } from "../../types/resource.ts";

class Thing extends Resource {
  protected override readonly kind = "thing";
  readonly #name: string;
  readonly #log: string[];
  /** Makes destroying it fail that many times. */
  failures = 0;
  inUse = false;

  constructor(log: string[], name: string, ...parents: Resource[]) {
    super({} as Handle, parents);
    this.#name = name;
    this.#log = log;
  }

  protected override isInUse(): boolean {
    return this.inUse;
  }

  protected override destroy(): void {
    if (this.failures-- > 0) throw new Error(this.#name);
    this.#log.push(this.#name);
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

Deno.test("Resource.close() leaves the parents of what it disposes", () => {
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

Deno.test("Resource with two parents goes with whichever is disposed first", () => {
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
  // the others went, and the parent waits for the child that is still there
  assertEquals(log, ["grandchild", "one"]);
  parent.close();
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("Resource.close() goes on when a child fails, and reports every failure", () => {
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

Deno.test("Resource.close() of a child that failed lets its disposed parent go as well", () => {
  const { log, parent, two } = family();
  two.failures = 1;
  assertThrows(() => parent.close());
  two.close();
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("unhold() destroys what was disposed while it was held", () => {
  const { log, parent, one } = family();
  hold(one);
  hold(one);
  parent.close();
  assertEquals([one.disposed, parent.disposed], [true, true]);
  assertEquals(log, ["two", "grandchild"]);
  unhold(one);
  assertEquals(log, ["two", "grandchild"]);
  unhold(one);
  assertEquals(log, ["two", "grandchild", "one", "parent"]);
});

Deno.test("unhold() leaves what was not disposed", () => {
  const { log, one } = family();
  hold(one);
  unhold(one);
  assertEquals([log, one.disposed], [[], false]);
});

Deno.test("reconsider() destroys what was disposed while it was in use", () => {
  const { log, parent, two } = family();
  two.inUse = true;
  parent.close();
  assertEquals(log, ["grandchild", "one"]);
  reconsider(two);
  assertEquals(log, ["grandchild", "one"]);
  two.inUse = false;
  reconsider(two);
  assertEquals(log, ["grandchild", "one", "two", "parent"]);
});

Deno.test("reconsider() leaves what was not disposed", () => {
  const { log, two } = family();
  reconsider(two);
  assertEquals([log, two.disposed], [[], false]);
});

Deno.test("reconsider() leaves a failure to the next close()", () => {
  const { log, two } = family();
  two.inUse = true;
  two.close();
  two.inUse = false;
  two.failures = 1;
  reconsider(two);
  assertEquals(log, []);
  two.close();
  assertEquals(log, ["two"]);
});
