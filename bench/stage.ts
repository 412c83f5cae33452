/**
 * Measures the rows of one stage, on the host or in the guest, and writes what they came to as JSON.
 *
 * @module
 */

import { type Result, summarize } from "./measurement.ts";
import { PREPARATIONS } from "./gids.ts";
import { playPingPong } from "./ping_pong.ts";
import { Contender } from "./process.ts";
import { type Entry, type Row, ROWS } from "./rows.ts";

/** How a stage is run: its one argument, as JSON. */
export interface StageOptions {
  readonly stage: 1 | 2;
  readonly rounds: number;
  readonly quick: boolean;
  /** The only row to measure; all if left out. */
  readonly row?: string | undefined;
  /** About how long a round takes. */
  readonly milliseconds: number;
  /** How many milliseconds V8 may take for its next step. */
  readonly patience: number;
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
  if (row.prepare !== undefined) await PREPARATIONS[row.prepare]();
  const plans = new Map<Entry, Plan>();
  for (const entry of row.entries) plans.set(entry, await plan(row, entry));
  const samples = row.entries.map((): number[] => []);
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, entry] of row.entries.entries()) {
      samples[i]!.push(await run(entry, plans.get(entry)!));
    }
  }
  const measurements = row.entries.map((entry, i) => [entry.who, summarize(samples[i]!)] as const);
  return { id: row.id, measurements: Object.fromEntries(measurements) };
}

/** A round's extent: its result is the middle one of its parts, so that an interruption does not count. */
interface Plan {
  /** Operations of a part. */
  readonly count: number;
  readonly parts: number;
}

const PARTS = 50;

async function plan(row: Row, entry: Entry): Promise<Plan> {
  if (row.count !== undefined) return { count: row.count(options.quick), parts: 1 };
  await warmUp(entry);
  return await calibrate(entry);
}

/** Goes on as long as it gets faster: V8 compiles in several steps, which take seconds where the guest is emulated. */
async function warmUp(entry: Entry): Promise<void> {
  const patience = entry.process === "deno" ? options.patience : options.patience / 10;
  let best = Infinity;
  let last = performance.now();
  while (performance.now() - last < patience) {
    const nanoseconds = await run(entry, await calibrate(entry));
    if (nanoseconds > 0.95 * best) continue;
    best = nanoseconds;
    last = performance.now();
  }
}

/** Finds how many operations fill a part. */
async function calibrate(entry: Entry): Promise<Plan> {
  const wanted = options.milliseconds * 1e6 / PARTS;
  let count = 1;
  let share: number;
  while ((share = wanted / await partOf(entry, count)) >= 2) {
    count = Math.ceil(count * Math.min(share, 10));
  }
  return { count: Math.ceil(count * share), parts: PARTS };
}

async function partOf(entry: Entry, count: number): Promise<number> {
  return Math.max(1, await run(entry, { count, parts: 1 }) * count);
}

async function run(entry: Entry, { count, parts }: Plan): Promise<number> {
  if (entry.process === "pair") return await playPingPong(entry.round, count);
  const process = contender(entry);
  if (!entry.round.startsWith("wake_up")) return await process.ask(entry.round, count, parts);
  await process.tell(entry.round, count, parts);
  const qpNum = await process.answer();
  const pinger = new Deno.Command(options.pinger, { args: [`${qpNum}`] }).spawn();
  const nanoseconds = await process.answer();
  pinger.kill();
  await pinger.status;
  return nanoseconds;
}

const results: Result[] = [];
const { stage, row: only } = options;
for (const row of ROWS.filter((row) => row.stage === stage && (only ?? row.id) === row.id)) {
  console.error(`bench: ${row.title}`);
  results.push(await measure(row));
}
for (const process of contenders.values()) await process[Symbol.asyncDispose]();
await Deno.writeTextFile(options.output, JSON.stringify(results));
