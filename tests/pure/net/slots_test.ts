// The slots of a memory.
import { assertEquals } from "@std/assert";
import { Slots } from "../../../net/ud/slots.ts";

/** Takes runs of at most `most` slots until none is free: the first slot of each, and how many it has. */
function runs(slots: Slots, most: number): [first: number, count: number][] {
  const taken: [number, number][] = [];
  while (slots.free > 0) taken.push([slots.first, slots.takeRun(most)]);
  return taken;
}

Deno.test("Slots gives runs of slots that follow each other, as long as they are asked for", () => {
  const slots = new Slots(8);
  assertEquals(runs(slots, 3), [[0, 3], [3, 3], [6, 2]]);
  assertEquals([slots.free, slots.takeRun(1)], [0, 0]);
});

Deno.test("Slots takes first what is free longest, and ends a run where the next slot is another one", () => {
  const slots = new Slots(8);
  slots.takeRun(8);
  for (const slot of [6, 7, 0, 1, 3]) slots.give(slot);
  assertEquals(slots.free, 5);
  assertEquals(runs(slots, 8), [[6, 2], [0, 2], [3, 1]]);
  slots.give(5);
  assertEquals([slots.first, slots.take(), slots.free], [5, 5, 0]);
});

Deno.test("Slots that are reset are free but for those that are named", () => {
  const slots = new Slots(6);
  slots.takeRun(4);
  slots.reset([1, 4]);
  assertEquals(slots.free, 4);
  assertEquals(runs(slots, 6), [[0, 1], [2, 2], [5, 1]]);
});
