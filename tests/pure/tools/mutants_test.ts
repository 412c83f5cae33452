// The list of mutants: what is wrong with it is told before any test runs.
import { assertEquals } from "@std/assert";
import { ALL } from "../../../tools/mutants/lists.ts";
import { faultsOf, flatten, type MutantsOf, needsDevice } from "../../../tools/mutants/mutant.ts";
import { readInProject } from "../../../tools/mutants/tree.ts";

const FILES: Readonly<Record<string, string>> = {
  "types/a.ts": "one two two",
  "tests/pure/a_test.ts": "",
  "tests/device/a_test.ts": "",
};

function listOf(change: Partial<MutantsOf["mutants"][number]>, file = "types/a.ts"): MutantsOf {
  const mutant = { id: "a", replace: "one", by: "three", wrong: "It is.", ...change };
  return { file, tests: ["pure/a"], mutants: [mutant] };
}

function faults(...lists: MutantsOf[]): string[] {
  return faultsOf(flatten(lists), (path) => FILES[path]);
}

Deno.test("faultsOf() finds nothing when each text is there once", () => {
  assertEquals(faults(listOf({}), listOf({ id: "b", replace: "two two" })), []);
});

Deno.test("faultsOf() names each mutant that cannot be applied as it is meant", () => {
  assertEquals(faults(listOf({ replace: "two" })), [
    "a: types/a.ts has its text 2 times, not once",
  ]);
  assertEquals(faults(listOf({ replace: "no" })), ["a: types/a.ts has its text 0 times, not once"]);
  assertEquals(faults(listOf({ by: "one" })), ["a: it changes nothing"]);
  assertEquals(faults(listOf({}), listOf({})), ["a: another mutant has this name"]);
  assertEquals(faults(listOf({}, "types/b.ts")), ["a: there is no file types/b.ts"]);
  assertEquals(faults(listOf({ tests: ["pure/b"] })), ["a: there is no file tests/pure/b_test.ts"]);
});

Deno.test("flatten() gives each mutant its file, its tests and thunks", () => {
  const [first, second] = flatten([
    listOf({}),
    listOf({ id: "b", tests: ["device/a"], thunks: "off" }),
  ]);
  assertEquals([first!.tests, first!.thunks], [["tests/pure/a_test.ts"], "on"]);
  assertEquals([second!.tests, second!.thunks], [["tests/device/a_test.ts"], "off"]);
  assertEquals([first!, second!].map(needsDevice), [false, true]);
});

Deno.test("Every mutant of the project can be applied", () => {
  assertEquals(faultsOf(ALL, readInProject), []);
});
