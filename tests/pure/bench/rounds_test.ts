// Rounds of contenders: their order, what their processes say, and what happens if one cannot measure.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Method } from "../../../bench/method.ts";
import { Contender, parseSample } from "../../../bench/process.ts";
import { orderOf, Rounds } from "../../../bench/rounds.ts";
import { ROWS } from "../../../bench/rows/all.ts";
import { runDeno } from "../../subprocess.ts";

Deno.test("orderOf() lets each contender be first, and changes who follows whom", () => {
  const orders = [0, 1, 2, 3, 4, 5].map((round) => orderOf(["a", "b", "c"], round).join(""));
  assertEquals(orders, ["abc", "acb", "cab", "cba", "bca", "bac"]);
});

Deno.test("parseSample() reads what a contender prints", () => {
  assertEquals(parseSample("12.5"), { value: 12.5 });
  assertEquals(parseSample("1 p99=2 lost=0"), { value: 1, p99: 2, lost: 0 });
  const wrong = ["", "-1", "nan", "inf", "1 p99=", "1 p99", "1 lost=-1", "contender: no post"];
  for (const line of wrong) assertEquals(parseSample(line), undefined, line);
});

const METHOD: Method = { rounds: 3, milliseconds: 1, parts: 1, patience: 0, fresh: true };

/** Measures with a shell script as the contender. */
async function measure(script: string): Promise<unknown> {
  const entries = [{ who: "C", process: "c" as const, round: "work" }];
  const start = (): Contender => new Contender("C", ["sh", "-c", script], {});
  await using rounds = new Rounds(METHOD, start, {});
  const row = { id: "test", title: "test", stage: "native" as const, entries, goals: [] };
  return await rounds.measure({ ...row, decision: "mod.ts", count: 7 });
}

/** Measures by an entry's own way. */
async function measureOwn(sample: (count: number) => Record<string, number>): Promise<unknown> {
  const measure = ({ count }: { count: number }) =>
    Promise.resolve(sample(count) as { value: number });
  await using rounds = new Rounds(METHOD, () => new Contender("C", ["true"], {}), {});
  const entries = [{ who: "Deno", measure }];
  const row = { id: "own", title: "own", stage: "cold" as const, entries, goals: [] };
  return await rounds.measure({ ...row, decision: "mod.ts", count: 5 });
}

Deno.test("Rounds.measure() gives the samples of each round", async () => {
  const rounds = await measure('while read name count parts; do echo "$count lost=$parts"; done');
  assertEquals(rounds, [1, 2, 3].map(() => ({ C: { value: 7, lost: 1 } })));
});

Deno.test("Rounds.measure() takes an entry's own way to measure, if it gives numbers", async () => {
  const rounds = await measureOwn((count) => ({ value: count }));
  assertEquals(rounds, [1, 2, 3].map(() => ({ Deno: { value: 5 } })));
  const message = "Cannot measure: lost of Deno came to NaN";
  await assertRejects(() => measureOwn(() => ({ value: 1, lost: NaN })), Error, message);
});

const failures: [what: string, script: string, message: string][] = [
  ["ends before it answers", "read line; exit 3", "contender C ended with status 3"],
  ["says that it cannot", 'read line; echo "no device"', 'contender C said "no device"'],
  ["says -1", "read line; echo -1", 'contender C said "-1"'],
];

for (const [what, script, message] of failures) {
  Deno.test(`Rounds.measure() throws when a contender ${what}`, async () => {
    await assertRejects(() => measure(script), Error, `Cannot measure work: ${message}`);
  });
}

Deno.test("A stage that cannot measure ends with an error and writes nothing", async () => {
  const output = await Deno.makeTempFile();
  const options = {
    ...{ stage: "native", rows: ["poll_empty"], output },
    programs: { contender: "/bin/false", provider: "/nowhere/provider.so" },
  };
  const args = ["run", "-A", "--no-check", "bench/stage.ts", JSON.stringify(options)];
  const { code, stderr } = await runDeno(args);
  assertEquals(code, 1, stderr);
  assertMatch(stderr, /Cannot measure poll_empty: contender C (has )?ended/);
  assertEquals(await Deno.readTextFile(output), "");
  await Deno.remove(output);
});

Deno.test("rows have names of their own, and each contender of a row another name", () => {
  const ids = ROWS.map(({ id }) => id);
  assertEquals(ids.filter((id, i) => ids.indexOf(id) !== i), []);
  for (const { id, entries } of ROWS) {
    const names = entries.map(({ who }) => who);
    assertEquals(names.filter((name, i) => names.indexOf(name) !== i), [], id);
  }
});
