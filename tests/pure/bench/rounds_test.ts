// Rounds of contenders: their order, what their processes say, and what happens if one cannot measure.

import { assertEquals, assertRejects } from "@std/assert";
import type { Method } from "../../../bench/method.ts";
import { Contender, parseSample } from "../../../bench/process.ts";
import { orderOf, Rounds } from "../../../bench/rounds.ts";
import { ROWS } from "../../../bench/rows/all.ts";
import type { Row } from "../../../bench/rows/types.ts";

Deno.test("orderOf() lets each contender be first, and changes who follows whom", () => {
  const orders = [0, 1, 2, 3, 4, 5].map((round) => orderOf(["a", "b", "c"], round).join(""));
  assertEquals(orders, ["abc", "acb", "cab", "cba", "bca", "bac"]);
});

Deno.test("orderOf() leaves the entries as they are", () => {
  const entries = ["a", "b"] as const;
  orderOf(entries, 1);
  assertEquals(entries, ["a", "b"]);
});

const lines: [line: string, sample: Record<string, number> | undefined][] = [
  ["12.5", { value: 12.5 }],
  ["1 p99=2 lost=0", { value: 1, p99: 2, lost: 0 }],
  ["", undefined],
  ["-1", undefined],
  ["nan", undefined],
  ["inf", undefined],
  ["1 p99=", undefined],
  ["1 p99", undefined],
  ["1 lost=-1", undefined],
  ["contender: cannot post", undefined],
];

for (const [line, sample] of lines) {
  Deno.test(`parseSample() reads ${JSON.stringify(line)}`, () => {
    assertEquals(parseSample(line), sample);
  });
}

const METHOD: Method = { rounds: 3, milliseconds: 1, parts: 1, patience: 0, fresh: true };

function row(id: string, script: string): [row: Row, start: () => Contender] {
  const entries = [{ who: "C", process: "c" as const, round: "work" }];
  const start = (): Contender => new Contender("C", ["sh", "-c", script], {});
  return [{ id, title: id, stage: "native", entries, goals: [], count: () => 7 }, start];
}

async function measure(script: string): Promise<unknown> {
  const [chosen, start] = row("test", script);
  await using rounds = new Rounds(METHOD, start, {}, false);
  return await rounds.measure(chosen);
}

Deno.test("Rounds.measure() gives the samples of each round", async () => {
  const rounds = await measure('while read name count parts; do echo "$count lost=$parts"; done');
  assertEquals(rounds, [1, 2, 3].map(() => ({ C: { value: 7, lost: 1 } })));
});

Deno.test("Rounds.measure() takes an entry's own way to measure, and gives it the row's count", async () => {
  const entry = {
    who: "Deno",
    measure: ({ count }: { count: number }) => Promise.resolve({ value: count }),
  };
  await using rounds = new Rounds(METHOD, () => new Contender("C", ["true"], {}), {}, true);
  const chosen: Row = {
    ...{ id: "own", title: "own", stage: "cold", entries: [entry], goals: [], rounds: 2 },
    count: (quick) => quick ? 5 : 50,
  };
  assertEquals(await rounds.measure(chosen), [{ Deno: { value: 5 } }, { Deno: { value: 5 } }]);
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

Deno.test("Rounds.measure() throws when an entry's own way gives no number", async () => {
  const entry = { who: "Deno", measure: () => Promise.resolve({ value: 1, lost: NaN }) };
  await using rounds = new Rounds(METHOD, () => new Contender("C", ["true"], {}), {}, true);
  const chosen: Row = { id: "own", title: "own", stage: "cold", entries: [entry], goals: [] };
  const message = "Cannot measure: lost of Deno came to NaN";
  await assertRejects(() => rounds.measure(chosen), Error, message);
});

Deno.test("A stage that cannot measure ends with an error and writes nothing", async () => {
  const output = await Deno.makeTempFile();
  const options = {
    ...{ stage: "native", quick: true, rows: ["poll_empty"], output },
    programs: { contender: "/bin/false", provider: "/nowhere/provider.so" },
  };
  const stage = new URL("../../../bench/stage.ts", import.meta.url).pathname;
  const args = ["run", "-A", "--no-check", stage, JSON.stringify(options)];
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const message = new TextDecoder().decode(stderr);
  assertEquals(code, 1, message);
  assertEquals(/Cannot measure poll_empty: contender C (has )?ended/.test(message), true, message);
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
