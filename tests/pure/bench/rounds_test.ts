// Rounds of contenders: their order, what their processes say, and what happens if one cannot measure.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Contender, endContenders, keep, parseSample, warmUp } from "../../../bench/contender.ts";
import { ROWS } from "../../../bench/rows.ts";
import { measureRow, orderOf } from "../../../bench/stage.ts";
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

Deno.test("measureRow() gives the samples of each round, in which each contender measures once", async () => {
  const asked: string[] = [];
  const entries = ["C", "Deno"].map((who) => ({
    who,
    measure: (value: number) => {
      asked.push(who);
      return Promise.resolve({ value });
    },
  }));
  const row = { id: "id", title: "title", stage: "cold", goals: [], note: "mod.ts" } as const;
  const rounds = await measureRow({ ...row, entries, count: 7 }, 3, {});
  assertEquals(rounds, Array(3).fill({ C: { value: 7 }, Deno: { value: 7 } }));
  assertEquals(asked, ["C", "Deno", "C", "Deno", "C", "Deno"]);
});

/** Asks a shell script for a round. */
async function ask(script: string): Promise<unknown> {
  await using process = new Contender("C", ["sh", "-c", script]);
  return await process.ask("work", 7, 2);
}

Deno.test("Contender.ask() gives what the process answers to the words of a round", async () => {
  const sample = await ask('read name count parts; echo "$count p99=$parts"');
  assertEquals(sample, { value: 7, p99: 2 });
});

const failures: [what: string, script: string, message: string][] = [
  ["ends before it answers", "read line; exit 3", "contender C ended with status 3"],
  ["says that it cannot", 'read line; echo "no device"', 'contender C said "no device"'],
  ["says -1", "read line; echo -1", 'contender C said "-1"'],
];

for (const [what, script, message] of failures) {
  Deno.test(`Contender.ask() throws when the process ${what}`, async () => {
    await assertRejects(() => ask(script), Error, `Cannot measure work: ${message}`);
  });
}

Deno.test("keep() starts a process once, until the row ends", async () => {
  const ended: number[] = [];
  let started = 0;
  const start = (): AsyncDisposable => {
    const number = ++started;
    return { [Symbol.asyncDispose]: () => Promise.resolve(void ended.push(number)) };
  };
  assertEquals((await keep("a", start)).isNew, true);
  assertEquals((await keep("a", start)).isNew, false);
  await endContenders();
  assertEquals([started, ended], [1, [1]]);
  assertEquals((await keep("a", start)).isNew, true);
  await endContenders();
});

Deno.test("warmUp() runs on while work gets faster", async () => {
  const values = [8, 4, 2, 1];
  let runs = 0;
  await warmUp(() => Promise.resolve({ value: values[runs++] ?? 1 }), 1);
  assertEquals(runs >= 4, true);
});

Deno.test("A stage that cannot measure ends with an error and writes nothing", async () => {
  const output = await Deno.makeTempFile();
  const options = {
    ...{ stage: "native", rows: ["poll_empty"], rounds: 1, output },
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
