// Mutants: how they are drawn, and how each one is judged.
import { assertEquals, assertNotEquals } from "@std/assert";
import { quotas, shuffle } from "../../../tools/mutants/draw.ts";
import type { Mutant } from "../../../tools/mutants/generate.ts";
import { judgeAll } from "../../../tools/mutants/judge.ts";
import { inProject } from "../../../tools/host/paths.ts";
import { Tree } from "../../../tools/mutants/tree.ts";

function mutantOf(original: string, replacement: string, line = 0): Mutant {
  const place = { start: { line, column: 0 }, end: { line, column: 9 } };
  return { file: "types/a.ts", place, mutator: "Some", original, replacement };
}

Deno.test("shuffle() gives the same order for a seed when other code changes", () => {
  const all = Array.from("abcdefghij", (original) => mutantOf(original, "x"));
  const names = (seed: string, mutants: readonly Mutant[]): string[] =>
    shuffle(mutants, seed).get("types")!.map(({ original }) => original);
  const order = names("one", all);
  assertEquals(order.toSorted(), all.map(({ original }) => original));
  assertNotEquals(order, names("two", all));
  const moved = all.slice(1).map((mutant) => ({ ...mutant, place: mutantOf("", "", 99).place }));
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

/** A source whose mutants have the names of what becomes of them. */
const SOURCE =
  `import { stryCov_9fa48 as reach, stryMutAct_9fa48 as active } from "../tools/mutants/switch.ts";
const mutant = (id: string): boolean => active(id) || (reach(id), false);
if (mutant("killed while it loads")) throw new Error();
export const loaded = mutant("killed when loaded") ? 2 : 1;
let changed = 1;
let lazy: number | undefined;
export const quick = (): number => {
  if (mutant("killed and leaves a trace")) changed = 2;
  return mutant("killed") ? 2 : mutant("survived") ? changed : changed;
};
export const once = (): number => lazy ??= mutant("killed at the first call") ? 2 : 1;
export const slow = async (): Promise<number> => {
  if (mutant("killed by its exit")) Deno.exit(0);
  while (mutant("killed in an endless loop"));
  if (mutant("timed out")) await new Promise(() => setInterval(() => {}, 1000));
  if (mutant("killed later")) setTimeout(() => Promise.reject(new Error()));
  const program = \`import { child } from "\${import.meta.url}"; console.log(child());\`;
  const args = ["run", "--allow-all", "data:application/typescript," + encodeURIComponent(program)];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  return Number(new TextDecoder().decode(stdout));
};
export const child = (): number => mutant("killed in another process") ? 2 : 1;
export const unused = (): number => mutant("not executed") ? 2 : 1;
`;

const TESTS = `import * as all from "./types/a.ts";
for (const name of ["quick", "once", "slow"]) {
  Deno.test(name, async () => {
    if (await all[name]() !== 1) throw new Error();
  });
}
Deno.test({ name: "loaded", fn: (t) => t.step("", () => { if (all.loaded !== 1) throw 1; }) });
Deno.test("fails always", () => { throw new Error(); });
`;

/** A project with one source file that has mutants, and with these tests. */
function treeOf(content: string, tests: Readonly<Record<string, string>>): Tree {
  const project = Deno.makeTempDirSync({ prefix: "ibverbs-mutants-test-" });
  Deno.mkdirSync(`${project}/tools/mutants`, { recursive: true });
  Deno.mkdirSync(`${project}/types`);
  for (const name of ["runner.ts", "switch.ts"]) {
    Deno.copyFileSync(inProject(`tools/mutants/${name}`), `${project}/tools/mutants/${name}`);
  }
  for (const [name, text] of Object.entries(tests)) {
    Deno.writeTextFileSync(`${project}/${name}`, text);
  }
  const tree = new Tree([{ name: "types/a.ts", content }], project);
  Deno.removeSync(project, { recursive: true });
  return tree;
}

Deno.test("judgeAll() tells killed mutants from those that survive or hang", async () => {
  using tree = treeOf(SOURCE, { "a_test.ts": TESTS });
  const ids = [...SOURCE.matchAll(/mutant\("(.*?)"\)/g)].map(([, id]) => id!);
  const verdicts = async (quick: number, ...names: string[]): Promise<[string, string][]> => {
    const mutants = new Map(names.map((name) => [name, mutantOf(name, "")]));
    const patience = { loading: 60, quick, budget: 100 };
    const judged = await judgeAll([tree], mutants, ["a_test.ts"], patience);
    return judged.map(({ mutant, verdict }) => [mutant.original, verdict]);
  };
  for (const [name, verdict] of await verdicts(100, ...ids)) {
    assertEquals(name.startsWith(verdict), true, `${name}: ${verdict}`);
  }
  assertEquals(ids.length, 12);
  // As a slow test.
  assertEquals(await verdicts(0, "killed"), [["killed", "killed"]]);
});

Deno.test("judgeAll() tries what a test file imports by that file first, however slow it is", async () => {
  const [head] = SOURCE.split("let changed");
  const other = `await import("./types/" + "a.ts"); Deno.test("", () => {});`;
  const slow = `import { loaded } from "./types/a.ts";
    Deno.test("slow", () => new Promise((done) => setTimeout(done, 1000)));
    Deno.test("quick", () => { if (loaded !== 1) throw new Error(); });`;
  const tests = Object.fromEntries([..."1234"].map((name) => [`${name}_test.ts`, other]));
  using tree = treeOf(head!, { ...tests, "5_test.ts": slow });
  const mutants = new Map([["killed when loaded", mutantOf("", "")]]);
  const patience = { loading: 60, quick: 0.3, budget: 0 };
  const files = [...Object.keys(tests), "5_test.ts"];
  const judged = await judgeAll([tree], mutants, files, patience);
  assertEquals(judged.map(({ verdict }) => verdict), ["killed"]);
});
