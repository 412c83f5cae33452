// What the long test of connections takes for a leak.
import { assertEquals } from "@std/assert";
import { leftovers, MOST_GROWTH, type Sample } from "../../../tools/connections/verdict.ts";

const BEFORE: Sample = { descriptors: 20, objects: '{"qp":1}', heap: 8e6 };

function after(change: Partial<Sample>): string[] {
  return leftovers(BEFORE, { ...BEFORE, ...change });
}

Deno.test("leftovers() finds nothing where all is as before, and takes code that V8 has compiled", () => {
  assertEquals(after({}), []);
  assertEquals(after({ heap: BEFORE.heap + MOST_GROWTH }), []);
  assertEquals(after({ heap: 1e6 }), []);
});

Deno.test("leftovers() names descriptors, kernel objects and 3 kB of heap for each connection", () => {
  assertEquals(after({ descriptors: 21 }), ["descriptors are left"]);
  assertEquals(after({ descriptors: 19 }), ["descriptors are left"]);
  assertEquals(after({ objects: '{"qp":2}' }), ['kernel objects are left of {"qp":1}']);
  assertEquals(after({ heap: BEFORE.heap + 800 * 3000 }), ["the heap grows"]);
  const all = after({ descriptors: 0, objects: "{}", heap: 20e6 });
  assertEquals(all.length, 3);
});
