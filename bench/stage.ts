/**
 * Measures the rows of one stage, on the host or in the guest, and writes what they came to as JSON.
 *
 * @module
 */

import { type Result, summarize } from "./measurement.ts";
import { Contender } from "./process.ts";
import { type Entry, type Row, ROWS } from "./rows.ts";

/** How a stage is run: its one argument, as JSON. */
export interface StageOptions {
  readonly stage: 1 | 2;
  readonly rounds: number;
  /** About how long a round takes. */
  readonly milliseconds: number;
  /** The compiled programs. */
  readonly contender: string;
  readonly pinger: string;
  readonly provider: string;
  /** Where the results go. */
  readonly output: string;
}

const options: StageOptions = JSON.parse(Deno.args[0]!);
const here = new URL(".", import.meta.url).pathname;
const contenders = new Map<string, Contender>();
const starters: Readonly<Record<string, () => Contender>> = {
  c: () => new Contender("C", [options.contender], substitute("LD_PRELOAD")),
  python: () => {
    const command = ["/usr/bin/python3", `${here}python/contender.py`];
    return new Contender("pyverbs", command, substitute("LD_PRELOAD"));
  },
  deno: () => {
    const args = ["run", "-A", "--no-check", "--v8-flags=--expose-gc"];
    const command = [Deno.execPath(), ...args, `${here}deno/contender.ts`];
    return new Contender("Deno", command, substitute("IBVERBS_LIBRARY"));
  },
};

/** In stage 1 the no-op provider takes libibverbs' place. */
function substitute(variable: string): Record<string, string> {
  return options.stage === 1 ? { [variable]: options.provider } : {};
}

function contender(entry: Entry): Contender {
  const known = contenders.get(entry.process);
  if (known !== undefined) return known;
  const started = starters[entry.process]!();
  contenders.set(entry.process, started);
  return started;
}

async function measure(row: Row): Promise<Result> {
  const counts = new Map<Entry, number>();
  for (const entry of row.entries) counts.set(entry, row.count ?? await calibrate(entry));
  const samples = row.entries.map((): number[] => []);
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, entry] of row.entries.entries()) {
      samples[i]!.push(await run(entry, counts.get(entry)!));
    }
  }
  const measurements = row.entries.map((entry, i) => [entry.who, summarize(samples[i]!)] as const);
  return { id: row.id, measurements: Object.fromEntries(measurements) };
}

/** Finds how many operations fill a round; it warms up, too. */
async function calibrate(entry: Entry): Promise<number> {
  let count = 1;
  while (true) {
    const nanoseconds = await run(entry, count) * count;
    const share = options.milliseconds * 1e6 / Math.max(nanoseconds, 1);
    if (share < 2) return Math.ceil(count * share);
    count = Math.ceil(count * Math.min(share, 10));
  }
}

async function run(entry: Entry, count: number): Promise<number> {
  const process = contender(entry);
  if (entry.round !== "wake_up") return await process.ask(entry.round, count);
  await process.tell(entry.round, count);
  const qpNum = await process.answer();
  const pinger = new Deno.Command(options.pinger, { args: [`${qpNum}`, `${count}`] }).spawn();
  const nanoseconds = await process.answer();
  await pinger.status;
  return nanoseconds;
}

const results: Result[] = [];
for (const row of ROWS.filter((row) => row.stage === options.stage)) {
  console.error(`bench: ${row.title}`);
  results.push(await measure(row));
}
for (const process of contenders.values()) await process[Symbol.asyncDispose]();
await Deno.writeTextFile(options.output, JSON.stringify(results));
