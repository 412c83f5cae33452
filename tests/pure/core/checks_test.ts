import { assertEquals, assertThrows } from "@std/assert";
import { instance } from "../../../types/core/checks.ts";
import { nameOf, namesOf } from "../../../types/core/enums.ts";
import { Resource } from "../../../types/core/resource.ts";

class Thing extends Resource {
  constructor() {
    super({ name: "thing", destroy: () => {} }, []);
  }
}

Deno.test("nameOf() and namesOf() name the argument they refuse", () => {
  for (const value of [1n, "1", null, undefined, {}, Object.create(null)]) {
    for (const name of [nameOf, namesOf]) {
      const call = (): string => name({ A: 1 }, value as number);
      assertThrows(call, TypeError, "Cannot use value");
      assertThrows(() => name(null as unknown as object, 1), TypeError, "it is not an object");
    }
  }
});

Deno.test("instance() refuses what only looks like a resource", () => {
  const thing = new Thing();
  assertEquals([instance(thing, Thing, "x"), instance(thing, Resource, "x")], [thing, thing]);
  for (const value of [null, undefined, {}, Thing, "now"]) {
    assertThrows(() => instance(value, Thing, "x"), TypeError, "it is not a Thing");
  }
  const membrane = new Proxy(thing, { get: (target, key) => Reflect.get(target, key) });
  for (const value of [membrane, Object.create(thing), Object.create(Thing.prototype)]) {
    const message = "Cannot use x an object: it is not a Thing, but looks like one";
    assertThrows(() => instance(value, Thing, "x"), TypeError, message);
  }
});

Deno.test("namesOf() names every flag, and shows bits without a name", () => {
  const flags = { NONE: 0, A: 1, B: 2, BOTH: 3, D: 8n, E: "4", F: null, TOP: 1 << 31 };
  const names: [bits: number, text: string][] = [
    [0, "0"],
    [3, "A|B"],
    [0x15, "A|0x14"],
    [9, "A|0x8"],
    [-0x8000_0000, "TOP"],
    [0x8000_0001, "A|TOP"],
  ];
  for (const [bits, text] of names) assertEquals(namesOf(flags, bits), text);
  assertEquals(namesOf({ HIGH: 0x8000_0000 }, 0x8000_0000 | 0), "HIGH");
});

Deno.test("nameOf() names a value, or gives its number", () => {
  assertEquals([nameOf({ ONE: 1, TWO: 2 }, 2), nameOf({ ONE: 1 }, 9)], ["TWO", "9"]);
});
