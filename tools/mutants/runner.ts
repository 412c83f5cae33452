/** Runs the tests of one file in one process, with one mutant after the other: `runner.ts JOB`. */

import { ACTIVE, REACHED, state } from "./switch.ts";

/** What one test reaches without a mutant. */
export interface Reach {
  /** The place of the test in its file. */
  readonly test: number;
  readonly seconds: number;
  /** How often it reaches mutants in this process. */
  readonly here: { readonly [id: string]: number };
  /** What only processes and workers reach that it starts. */
  readonly others: readonly string[];
}

/** What a test file reaches without a mutant: the tests that pass, and what loading it reaches. */
export interface Survey {
  readonly tests: readonly Reach[];
  readonly loading: readonly string[];
}

export function reaches({ here, others }: Reach, id: string): boolean {
  return id in here || others.includes(id);
}

export interface Job {
  readonly file: string;
  /** What it reaches; undefined to find out. */
  readonly survey?: Survey;
  /** The mutants to judge, one after the other; undefined to run all tests once. */
  readonly mutants?: readonly string[];
  /** The tests that judge, by mutant; undefined for the quick ones that reach it. */
  readonly tests?: { readonly [id: string]: readonly number[] };
  /** Seconds of a quick test. */
  readonly quick: number;
  /** Whether nobody trusts a failure of the first mutant: it ended another process. */
  readonly suspect?: boolean;
}

export type Told =
  | { readonly survey: Survey }
  /** It begins a test, which must end in so many seconds; a mutant is active or none. */
  | { readonly begin: string | null; readonly limit: number }
  | { readonly id: string; readonly verdict: "killed" | "survived" | "static" | "suspect" }
  | { readonly passed: boolean };

/** What a line starts with that is no output of a test. */
export const MARK = "\u0001mutants ";

/** Seconds for what a busy machine does beside a test. */
const SLACK = 3;

/** So many times as often as without the mutant is an endless loop. */
const LOOP = 100;

interface Test {
  readonly name: string;
  readonly fn: (context: unknown) => unknown;
}

const { stdout } = Deno;
const { setTimeout } = globalThis;
const write = stdout.writeSync.bind(stdout);
const encoder = new TextEncoder();
const tests: Test[] = [];
let uncaught = 0;

function tell(told: Told): void {
  const bytes = encoder.encode(`\n${MARK}${JSON.stringify(told)}\n`);
  for (let done = 0; done < bytes.length;) done += write(bytes.subarray(done));
}

/** Collects what a test file defines, in any of the forms that the tests use. */
function define(first: string | Test & { ignore?: boolean }, fn?: Test["fn"]): void {
  if (typeof first === "string") tests.push({ name: first, fn: fn! });
  else if (!first.ignore) tests.push(first);
}

function context(name: string): unknown {
  const step = async (title: string, fn: Test["fn"]): Promise<void> => {
    await fn(context(title));
  };
  return { name, step };
}

/** Whether a test passes, with a mutant or without one. */
async function passes(test: number, id: string | undefined, hits = Infinity): Promise<boolean> {
  const { name, fn } = tests[test]!;
  uncaught = 0;
  state.active = id;
  state.hits = 0;
  state.limit = LOOP * (hits + LOOP);
  if (id !== undefined) Deno.env.set(ACTIVE, id);
  try {
    await fn(context(name));
    await new Promise((resolve) => setTimeout(resolve, 0));
    return uncaught === 0;
  } catch {
    return false;
  } finally {
    state.active = undefined;
    Deno.env.delete(ACTIVE);
  }
}

/** Runs each test once without a mutant. */
async function survey(): Promise<Survey> {
  const log = Deno.makeTempFileSync();
  const loading = new Set(["", ...state.reached.keys()]);
  const passed: Reach[] = [];
  for (let test = 0; test < tests.length; test++) {
    state.reached.clear();
    Deno.writeTextFileSync(log, "");
    Deno.env.set(REACHED, log);
    const started = performance.now();
    tell({ begin: null, limit: 240 });
    const good = await passes(test, undefined);
    Deno.env.delete(REACHED);
    if (!good) continue;
    const others = new Set(Deno.readTextFileSync(log).split("\n")).difference(loading);
    const seconds = (performance.now() - started) / 1000;
    passed.push({ test, seconds, here: Object.fromEntries(state.reached), others: [...others] });
  }
  Deno.removeSync(log);
  return { tests: passed, loading: [...loading] };
}

/**
 * Judges a mutant. A failure counts if the same test passes without the mutant right after it;
 * otherwise the mutant is a suspect, and a fresh process tries it once more.
 */
async function judge(id: string, judges: readonly Reach[], suspect: boolean): Promise<boolean> {
  let hits = 0;
  for (const { test, seconds, here, others } of judges) {
    let usual = seconds;
    if (suspect) {
      const started = performance.now();
      tell({ begin: null, limit: 240 });
      if (!await passes(test, undefined)) continue;
      usual = (performance.now() - started) / 1000;
    }
    tell({ begin: id, limit: SLACK + 5 * usual });
    const good = await passes(test, id, here[id] ?? 0);
    hits += state.hits + (others.includes(id) ? 1 : 0);
    if (good) continue;
    tell({ begin: null, limit: 240 });
    const clean = await passes(test, undefined);
    tell({ id, verdict: clean || suspect ? "killed" : "suspect" });
    return clean;
  }
  tell({ id, verdict: hits > 0 || judges.length === 0 ? "survived" : "static" });
  return true;
}

/** Runs all tests, the quick ones first, with the mutant that was active when they were loaded. */
async function runAll({ tests }: Survey): Promise<boolean> {
  const { active } = state;
  for (const { test } of tests.toSorted((a, b) => a.seconds - b.seconds)) {
    if (!await passes(test, active)) return false;
  }
  return true;
}

if (import.meta.main) {
  const job: Job = JSON.parse(Deno.readTextFileSync(Deno.args[0]!));
  Object.assign(Deno, { test: define });
  for (const name of ["error", "unhandledrejection"]) {
    addEventListener(name, (event) => {
      event.preventDefault();
      uncaught++;
    });
  }
  // As in `deno test`, the process lives on while a test waits for what nobody else holds.
  setInterval(() => {}, 1e9);
  await import(`file://${Deno.cwd()}/${job.file}`).catch((error) => {
    console.error(error);
    Deno.exit(1);
  });
  const found = job.survey ?? await survey();
  if (job.survey === undefined) tell({ survey: found });
  if (job.mutants === undefined) tell({ passed: await runAll(found) });
  let { suspect = false } = job;
  for (const id of job.mutants ?? []) {
    const chosen = job.tests?.[id];
    const judges = found.tests
      .filter((reach) =>
        chosen?.includes(reach.test) ?? (reach.seconds <= job.quick && reaches(reach, id))
      )
      .sort((a, b) => a.seconds - b.seconds);
    if (!await judge(id, judges, suspect)) break;
    suspect = false;
  }
  Deno.exit(0);
}
