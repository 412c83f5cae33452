// What the soak run takes for a leak.

import { assertEquals } from "@std/assert";
import { faultsOf, LIMITS, type Sample } from "../../../tools/soak/verdict.ts";

const NAMES = Object.keys(LIMITS) as (keyof typeof LIMITS)[];

/** 40 samples: a series has one value until the middle, and another one after it. */
function run(
  series: keyof typeof LIMITS,
  growth: number,
  done = (i: number): number => i,
): string[] {
  const samples = Array.from({ length: 40 }, (_, i): Sample => ({
    ...Object.fromEntries(NAMES.map((name) => [name, 100])) as Record<keyof typeof LIMITS, number>,
    [series]: i < 20 ? 100 : 100 + growth,
    done: { echo: done(i) },
  }));
  return faultsOf(samples);
}

for (const name of NAMES) {
  Deno.test(`faultsOf() finds growth of ${name} beyond its limit`, () => {
    const limit = LIMITS[name];
    assertEquals(run(name, limit), []);
    assertEquals(run(name, limit + 1), [`${name} grows from 100 to ${101 + limit}`]);
  });
}

Deno.test("faultsOf() finds work that came to a stop, and too few samples", () => {
  assertEquals(run("heap", 0, (i) => Math.min(i, 20)), ["echo came to a stop"]);
  assertEquals(faultsOf([]), ["0 samples are too few to see growth"]);
});
