// What the benchmarks make of their rounds.
import { assertEquals, assertThrows } from "@std/assert";
import { atMost } from "../../../bench/row.ts";
import { judge } from "../../../bench/statistics.ts";

/** Nine rounds in which Deno and another contender have the same figures. */
function rounds(deno: number, other: number): Record<string, { value: number }>[] {
  return Array.from({ length: 9 }, () => ({ Deno: { value: deno }, other: { value: other } }));
}

const CASES = [
  [100, 100, 1, "met"],
  [104, 100, 1.04, "met"],
  [106, 100, 1.06, "missed"],
  // An idle process may have taken no processor time.
  [0, 0, 1, "met"],
  [0, 100, 0, "met"],
  [100, 0, Infinity, "missed"],
] as const;

for (const [deno, other, median, outcome] of CASES) {
  Deno.test(`${deno} ns beside ${other} ns are ${outcome} for a goal of 1.05 x`, () => {
    const verdict = judge(atMost(1.05, "other"), { id: "row", rounds: rounds(deno, other) });
    assertEquals(verdict, { measured: { median, low: median, high: median }, outcome });
  });
}

Deno.test("A round without a number ends the comparison", () => {
  const result = { id: "row", rounds: rounds(NaN, 100) };
  assertThrows(() => judge(atMost(1.05, "other"), result), RangeError, "Cannot sum up rounds");
});
