// Misuse of everything in the public API: the matrix runs in subprocesses on the recorder. A signal, a hang, an error that
// does not tell what is wrong, an object that is left, or a call that no program may make fails.
//
// MISUSE=all runs all cases; MISUSE=TEXT runs those whose name has the text.

import { assert, assertEquals } from "@std/assert";
import type { EndReport, Report } from "./probe.ts";

/** The cases that run by default: all that are not of one attribute, and a part of the others. */
const SHARE = 12;
/** A case that says nothing for so long hangs. */
const PATIENCE_MS = 30_000;
const PROCESSES = 2;
const PROBE = new URL("probe.ts", import.meta.url).href;
const ALL = "all";
const IMPORTS = new URL("../../../tools/std/import_map.json", import.meta.url).pathname;

const wanted = Deno.env.get("MISUSE") ?? "";
const selection = wanted === "" ? SHARE : 1;

interface Run {
  /** How many cases the matrix has. */
  total: number;
  gaps: readonly string[];
  ran: number;
  readonly failures: string[];
  /** How often each kind of outcome came. */
  readonly outcomes: Map<string, number>;
}

Deno.test("Misuse of the public API is refused with a useful error or does no harm", async () => {
  const run: Run = { total: 0, gaps: [], ran: 0, failures: [], outcomes: new Map() };
  const shares = Array.from({ length: PROCESSES }, (_, share) => runShare(run, share));
  await Promise.all(shares);
  const outcomes = [...run.outcomes].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(`${run.ran} of ${run.total} cases: ${outcomes}`);
  assertEquals(run.gaps, [], "Every callable of the API needs a recipe");
  assertEquals(run.failures, []);
  assert(wanted !== "" || run.ran >= 3000, `only ${run.ran} cases ran`);
});

/** Runs every second case, for instance. A process that dies is followed by one that goes on behind the case. */
async function runShare(run: Run, share: number): Promise<void> {
  let first: number | undefined = share;
  while (first !== undefined) first = await runFrom(run, first);
}

/** Runs cases in one process. Returns the case to go on with, if the process died. */
async function runFrom(run: Run, first: number): Promise<number | undefined> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      // A call that takes all memory shall end soon.
      "--v8-flags=--expose-gc,--max-old-space-size=512",
      `--import-map=${IMPORTS}`,
      PROBE,
      ...[first, PROCESSES, selection].map(String),
      wanted === ALL ? "" : wanted,
    ],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const words = new Response(child.stderr).text();
  let current: { readonly start: number; readonly id: string } | undefined;
  let last = first;
  let hangs = false;
  const silence = watchdog(() => {
    hangs = true;
    child.kill("SIGKILL");
  });
  for await (const report of reports(child.stdout)) {
    silence.restart();
    if ("total" in report) Object.assign(run, report);
    else if ("start" in report) last = (current = report).start;
    else {
      note(run, current!.id, report);
      current = undefined;
    }
  }
  silence.stop();
  const { success, signal, code } = await child.status;
  const error = await words;
  if (success && current === undefined) return undefined;
  const what = hangs ? "hangs" : signal ?? `exit code ${code}`;
  run.failures.push(`${current?.id ?? "between cases"}: ${what} ${error.slice(0, 500)}`);
  return current === undefined ? undefined : last + PROCESSES;
}

function note(run: Run, id: string, { outcome, wrong }: EndReport): void {
  run.ran++;
  run.outcomes.set(outcome, (run.outcomes.get(outcome) ?? 0) + 1);
  if (wrong.length > 0) run.failures.push(`${id}: ${wrong.join("; ")}`);
}

async function* reports(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Report> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
}

function watchdog(bark: () => void): { restart: () => void; stop: () => void } {
  let timer = setTimeout(bark, PATIENCE_MS);
  return {
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(bark, PATIENCE_MS);
    },
    stop: () => clearTimeout(timer),
  };
}
