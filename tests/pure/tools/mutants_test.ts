// Mutants: how they are drawn, what their number proves, and how each one is judged.
import { assertEquals, assertNotEquals } from "@std/assert";
import { testsOf } from "../../../tools/mutants/coverage.ts";
import { mostSurvivors, quotas, shuffle } from "../../../tools/mutants/draw.ts";
import type { Mutant } from "../../../tools/mutants/generate.ts";
import { judgeAll, type Verdict } from "../../../tools/mutants/judge.ts";
import { reasons, stale } from "../../../tools/mutants/triage.ts";
import { Tree } from "../../../tools/mutants/tree.ts";

function mutantOf(original: string, replacement: string, start = 0): Mutant {
  return { file: "types/a.ts", start, lines: [3, 4], mutator: "Some", original, replacement };
}

Deno.test("shuffle() gives the same order for a seed when other code changes", () => {
  const all = Array.from("abcdefghij", (original) => mutantOf(original, "x"));
  const names = (seed: string, mutants: readonly Mutant[]): string[] =>
    shuffle(mutants, seed).get("types")!.map(({ original }) => original);
  const order = names("one", all);
  assertEquals(order.toSorted(), all.map(({ original }) => original));
  assertNotEquals(order, names("two", all));
  const moved = all.slice(1).map((mutant) => ({ ...mutant, start: 99 }));
  assertEquals(names("one", moved), order.filter((name) => name !== "a"));
});

Deno.test("quotas() draws in proportion, no folder less than 60, and no more than there are", () => {
  const cases: [Record<string, number>, number, Record<string, number>][] = [
    [{ a: 8000, b: 1500, c: 500 }, 600, { a: 455, b: 85, c: 60 }],
    [{ a: 700, b: 300 }, 40, { a: 28, b: 12 }],
    [{ a: 30, b: 3 }, 600, { a: 30, b: 3 }],
  ];
  for (const [sizes, count, expected] of cases) {
    const shares = quotas(new Map(Object.entries(sizes)), count);
    assertEquals(Object.fromEntries(shares), expected);
  }
});

Deno.test("mostSurvivors() is exceeded in less than one of 1000 draws of a suite with that share", () => {
  // The upper quantiles of binomial distributions.
  assertEquals([40, 100, 600].map((drawn) => mostSurvivors(drawn, 0.08)), [9, 17, 70]);
  assertEquals(mostSurvivors(3, 0.5), 3);
});

Deno.test("reasons() and stale() tell which rows of the table fit", () => {
  const rows = [
    { file: "types/a.ts", original: "a", replacement: "b", reason: "It is the same." },
    { file: "types/b.ts", original: "a", replacement: "b", reason: "There is no such file." },
  ];
  const mutants = [mutantOf("a", "b"), mutantOf("a", "c")];
  assertEquals(mutants.map(reasons(rows)), ["It is the same.", undefined]);
  assertEquals(stale(rows, mutants), [rows[1]!]);
});

Deno.test("testsOf() finds the tests that execute a mutant's lines, its own subject first", () => {
  const record = (test: string, seconds: number, ...lines: number[]) => ({
    test,
    seconds,
    lines: { "types/a.ts": lines },
    hashes: {},
  });
  const records = [
    record("tests/pure/b_test.ts", 2, 4),
    record("tests/pure/a_test.ts", 5, 3),
    record("tests/pure/before_test.ts", 1, 1, 2, 5),
  ];
  const found = testsOf(mutantOf("a", "b"), records).map(({ test }) => test);
  assertEquals(found, ["tests/pure/a_test.ts", "tests/pure/b_test.ts"]);
});

Deno.test("judgeAll() tells killed mutants from those that survive, hang or are no program", async () => {
  const empty = Deno.makeTempDirSync({ prefix: "ibverbs-mutants-test-" });
  using tree = new Tree(empty);
  Deno.removeSync(empty);
  const source = `let n = 1; while (n > 2); export const one = n; export const two = 1;\n`;
  Deno.mkdirSync(`${tree.path}/types`);
  Deno.writeTextFileSync(`${tree.path}/deno.json`, "{}");
  Deno.writeTextFileSync(`${tree.path}/types/a.ts`, source);
  const test = (what: string): string =>
    `import { one, two } from "./types/a.ts";\nDeno.test("a", () => { if (${what}) throw new Error(); });\n`;
  Deno.writeTextFileSync(`${tree.path}/one_test.ts`, test("one !== 1"));
  Deno.writeTextFileSync(`${tree.path}/two_test.ts`, test("two === 3"));
  const change = (original: string, replacement: string): Mutant =>
    mutantOf(original, replacement, source.indexOf(original));
  const cases: [Mutant, Verdict, string[]][] = [
    [change("n = 1", "n = 2"), "killed", ["one_test.ts"]],
    [change("n = 1", "n = 2"), "survived", ["two_test.ts"]],
    [change("n = 1", "n = 2"), "not executed", []],
    [change("two = 1", "two = 3"), "killed", ["one_test.ts", "two_test.ts"]],
    [change("n > 2", "true"), "timed out", ["one_test.ts"]],
    [change("n = 1", "n = )"), "no program", ["one_test.ts"]],
  ];
  for (const [mutant, verdict, tests] of cases) {
    const timed = tests.map((test) => ({ test, seconds: 0 }));
    assertEquals(await judgeAll([tree], [mutant], () => timed, { slack: 1, budget: 60 }), [{
      mutant,
      verdict,
    }]);
  }
  assertEquals(Deno.readTextFileSync(`${tree.path}/types/a.ts`), source);
});
