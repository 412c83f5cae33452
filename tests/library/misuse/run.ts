// Runs the matrix in processes of their own: many cases in one, and those after a case that a process died in in another.

import { MARK, type Order, type Report } from "./probe.ts";

/** How a matrix is run. */
export interface RunOptions extends Omit<Order, "range" | "validCalls"> {
  /** Environment variables of the processes. */
  readonly env?: Readonly<Record<string, string>>;
  /** How many processes run at the same time. */
  readonly jobs?: number;
  /** How long a case may say nothing, in milliseconds. */
  readonly patience?: number;
  /** Called with each line about how the run goes on. */
  readonly progress?: (line: string) => void;
}

/** What a run found. */
export interface Outcome {
  /** How many cases the matrix has. */
  generated: number;
  /** How many were chosen, and how many of these ran. */
  chosen: number;
  ran: number;
  /** What is wrong: cases that ended their process or did not end, left something, or have an error without use. */
  readonly wrong: string[];
  /** How often each error came. */
  readonly outcomes: Map<string, number>;
}

/** Cases in one process: the recorder has room for the objects of some ten thousand. */
const SHARE = 4000;
const ROOT = new URL("../../../", import.meta.url);
const IMPORTS = new URL("tools/std/import_map.json", ROOT).pathname;

/** Whether everything was refused or harmless. */
export function isClean({ wrong, ran, chosen }: Outcome): boolean {
  return chosen > 0 && ran === chosen && wrong.length === 0;
}

/** Runs the cases that are chosen. */
export async function runMatrix(options: RunOptions): Promise<Outcome> {
  const { jobs = 2, progress } = options;
  const validCalls = await Deno.makeTempFile();
  await using _file = { [Symbol.asyncDispose]: () => Deno.remove(validCalls) };
  const outcome: Outcome = { generated: 0, chosen: 0, ran: 0, wrong: [], outcomes: new Map() };
  const none = await runRange(options, { validCalls, range: [0, 0] }, outcome);
  if (none.died !== undefined) throw new Error(`Cannot generate cases: ${none.died}`);
  outcome.wrong.push(...none.gaps);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < outcome.chosen) {
      const end = next += SHARE;
      for (let start = end - SHARE; start < end;) {
        const { ended, died } = await runRange(
          options,
          { validCalls, range: [start, end] },
          outcome,
        );
        if (died === undefined) break;
        progress?.(died.slice(0, 200));
        outcome.wrong.push(died);
        outcome.ran++;
        start += ended + 1;
      }
      progress?.(`${outcome.ran} of ${outcome.chosen}`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return outcome;
}

/** How one process ended: how many cases have, the one that it died in and how, and what the valid calls leave out. */
interface Ending {
  readonly ended: number;
  readonly died: string | undefined;
  readonly gaps: readonly string[];
}

async function runRange(
  { seed, only, without, env = {}, patience = 60_000 }: RunOptions,
  part: Pick<Order, "validCalls" | "range">,
  outcome: Outcome,
): Promise<Ending> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      "--no-check",
      "--quiet",
      // A call that takes all memory shall end soon.
      "--v8-flags=--expose-gc,--max-old-space-size=512",
      `--import-map=${IMPORTS}`,
      import.meta.resolve("./probe.ts"),
      JSON.stringify({ seed, only, without, ...part }),
    ],
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const words = new Response(child.stderr).text();
  let [ended, current, hangs] = [0, "", false];
  let gaps: readonly string[] = [];
  const bark = (): void => {
    hangs = true;
    child.kill("SIGKILL");
  };
  let watchdog = setTimeout(bark, patience);
  for await (const report of reports(child.stdout)) {
    clearTimeout(watchdog);
    watchdog = setTimeout(bark, patience);
    if ("start" in report) current = report.start;
    else if ("end" in report) {
      ended++;
      note(outcome, report);
    } else {
      Object.assign(outcome, { generated: report.generated, chosen: report.chosen });
      gaps = report.gaps;
    }
  }
  const { success, signal, code } = await child.status;
  clearTimeout(watchdog);
  const how = hangs ? `silent for ${patience} ms` : signal ?? `exit code ${code}`;
  const died = success ? undefined : `${current}: ${how} ${lastOf(await words)}`;
  return { ended, died, gaps };
}

function note(outcome: Outcome, report: Extract<Report, { end: string }>): void {
  const { end, outcome: name, wrong } = report;
  outcome.ran++;
  outcome.outcomes.set(name, (outcome.outcomes.get(name) ?? 0) + 1);
  if (wrong.length > 0) outcome.wrong.push(`${end}: ${wrong.join("; ")}`);
}

async function* reports(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Report> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith(MARK)) yield JSON.parse(line.slice(MARK.length));
  }
}

/** The last words of a process, or the report of a sanitizer. */
function lastOf(text: string): string {
  const report = text.indexOf("==ERROR: ");
  return report >= 0 ? text.slice(report, report + 1500) : text.slice(-1500);
}
