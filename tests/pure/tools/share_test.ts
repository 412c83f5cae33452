// How test files are shared between guests, and what fails a run beside tests.

import { assertEquals } from "@std/assert";
import { shares, testFiles } from "../../../tools/tests/files.ts";
import { NONE } from "../../../tools/tests/junit.ts";
import { type Ending, faultsOf } from "../../../tools/tests/run.ts";

Deno.test("shares() gives each file to one guest, and all guests as much to do", () => {
  const files = testFiles(["tests/device"]);
  for (const count of [1, 2, 3]) {
    const found = shares(files, count);
    assertEquals(found.length, count);
    assertEquals(found.flat().toSorted(), files);
    const numbers = found.map(({ length }) => length);
    assertEquals(numbers.every((number) => number > files.length / count / 2), true);
  }
});

const NOTHING = { counts: { passed: 3, failed: 0, ignored: 0 }, status: 0, problems: [] };
const ONE_FAILED = { passed: 2, failed: 1, ignored: 0 };

const FAULTS: [what: string, ending: Partial<Ending>, faults: string[]][] = [
  ["all tests pass", {}, []],
  ["a test fails", { counts: ONE_FAILED, status: 1 }, []],
  ["a test fails and Deno crashes", { counts: ONE_FAILED, status: 139 }, [
    "deno test ended with status 139",
  ]],
  ["a guest crashes", { counts: NONE, status: undefined, problems: ["the guest was ended"] }, [
    "the guest was ended",
    "no test was executed",
  ]],
  ["a test is ignored", { counts: { passed: 2, failed: 0, ignored: 1 } }, [
    "1 tests were ignored",
  ]],
  ["Deno fails beside the tests", { status: 1 }, ["deno test ended with status 1"]],
];

for (const [what, ending, expected] of FAULTS) {
  Deno.test(`faultsOf() tells ${expected.join(" and ") || "nothing"} when ${what}`, () => {
    assertEquals(faultsOf({ ...NOTHING, ...ending }, false), expected);
  });
}

Deno.test("faultsOf() takes tests that are left out by --filter for no fault", () => {
  const counts = { passed: 0, failed: 0, ignored: 98 };
  assertEquals(faultsOf({ ...NOTHING, counts }, true), []);
});
