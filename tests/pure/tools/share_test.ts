// How test files are shared between guests, and what fails a run beside tests.

import { assertEquals } from "@std/assert";
import { guestCount, shares, testFiles } from "../../../tools/tests/files.ts";
import { NONE } from "../../../tools/tests/junit.ts";
import { type Ending, faultsOf } from "../../../tools/tests/run.ts";

async function load(...files: string[]): Promise<[number, string[]]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "tools/tests/share.ts", "--", ...files],
    cwd: new URL("../../../", import.meta.url),
    env: { NO_COLOR: "1" },
  }).output();
  const results = new TextDecoder().decode(stdout).matchAll(/^(.*) \.\.\. (ok|FAILED)/gm);
  return [code, [...results].map(([, name, result]) => `${name}: ${result}`)];
}

const FIXTURE = "tests/pure/tools/fixtures/three_tests.ts";

Deno.test("share.ts loads files into one process, and each test names its file", async () => {
  assertEquals(await load("tests/none.ts", FIXTURE), [1, [
    "tests/none.ts can be loaded: FAILED",
    `first [${FIXTURE}]: ok`,
    `second [${FIXTURE}]: ok`,
    `third [${FIXTURE}]: ok`,
  ]]);
});

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

const faults: [what: string, ending: Partial<Ending>, faults: string[]][] = [
  ["all tests pass", {}, []],
  ["a test fails", { counts: { passed: 2, failed: 1, ignored: 0 }, status: 1 }, []],
  ["a test fails and Deno crashes", {
    counts: { passed: 2, failed: 1, ignored: 0 },
    status: 139,
  }, ["deno test ended with status 139"]],
  ["a guest crashes", { counts: NONE, status: undefined, problems: ["the guest was ended"] }, [
    "the guest was ended",
    "no test was executed",
  ]],
  ["a test is ignored", { counts: { passed: 2, failed: 0, ignored: 1 } }, [
    "1 tests were ignored",
  ]],
  ["Deno fails beside the tests", { status: 1 }, ["deno test ended with status 1"]],
];

for (const [what, ending, expected] of faults) {
  Deno.test(`faultsOf() tells ${expected.join(" and ") || "nothing"} when ${what}`, () => {
    assertEquals(faultsOf({ ...NOTHING, ...ending }, false), expected);
  });
}

Deno.test("testFiles() finds test files in folders, each once", () => {
  const here = "tests/pure/tools";
  const found = testFiles([`${here}/share_test.ts`, here]);
  assertEquals(found.filter((file) => file.includes("share")), [`${here}/share_test.ts`]);
  assertEquals(found.includes(FIXTURE), false);
  assertEquals(found, [...found].sort());
});

Deno.test("guestCount() goes by files, processors and memory", () => {
  assertEquals(guestCount(40, 2, 16_000), 2);
  assertEquals(guestCount(40, 64, 160_000), 4);
  assertEquals(guestCount(40, 8, 3000), 2);
  assertEquals(guestCount(7, 8, 16_000), 1);
  assertEquals(guestCount(40, 1, 500), 1);
});
