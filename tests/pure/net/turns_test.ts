import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Turns } from "../../../net/shared/turns.ts";

/** How many calls follow each other before one has to wait, three times, when each call takes a time. */
function runs(max: number, milliseconds: number): number[] {
  let now = 0;
  using _clock = stub(performance, "now", () => now);
  const turns = new Turns(max);
  return [1, 2, 3].map(() => {
    let calls = 0;
    while (turns.mayContinue()) {
      calls++;
      now += milliseconds;
    }
    return calls;
  });
}

Deno.test("Turns lets as many calls follow each other as it was made for", () => {
  assertEquals(runs(64, 0.01), [63, 63, 63]);
  assertEquals(runs(8, 0), [7, 7, 7]);
});

Deno.test("Turns lets few slow calls follow each other", () => {
  assertEquals(runs(64, 0.2), [7, 7, 7]);
  assertEquals(runs(64, 10), [3, 3, 3]);
});
