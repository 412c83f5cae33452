import { assertEquals } from "@std/assert";
import { runAt, Slots } from "../../../net/ud/slots.ts";

Deno.test("Slots gives the slot that is free longest, in whatever order they come back", () => {
  const slots = new Slots(4);
  const taken = [0, 1, 2, 3].map(() => slots.take());
  assertEquals([taken, slots.free, slots.size], [[0, 1, 2, 3], 0, 4]);
  for (const slot of [2, 0, 3]) slots.give(slot);
  assertEquals([slots.first, slots.take(), slots.take(), slots.free], [2, 2, 0, 1]);
  for (const slot of [1, 0, 2]) slots.give(slot);
  assertEquals([3, 1, 0, 2].map(() => slots.take()), [3, 1, 0, 2]);
});

Deno.test("Slots.reset() frees all but those that are in use", () => {
  const slots = new Slots(5);
  for (let i = 0; i < 4; i++) slots.take();
  slots.give(3);
  slots.reset([1, 4]);
  assertEquals([0, 2, 3].map(() => slots.take()), [0, 2, 3]);
  assertEquals(slots.free, 0);
});

Deno.test("runAt() counts the slots that follow each other", () => {
  const slots = [4, 5, 6, 0, 1, 3];
  assertEquals(slots.map((_, at) => runAt(slots, at)), [3, 2, 1, 2, 1, 1]);
});
