// Runs a matrix in processes of their own: many cases in one, and those after a case that a process died in in another.

import { type EndReport, type ListReport, MARK, type Report } from "./probing.ts";

/** How a matrix is run. */
export interface RunOptions {
  /** The program that runs cases: a caller of `probe()`. */
  readonly program: URL;
  /** Chooses among the cases. */
  readonly choose: (cases: ListReport["cases"]) => ListReport["cases"];
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
  readonly generated: number;
  /** How many were chosen. */
  chosen: number;
  /** How many of them ran. */
  ran: number;
  /** What of the API the valid calls leave out. */
  readonly gaps: readonly string[];
  /** Cases that ended their process. */
  readonly crashes: string[];
  /** Cases that did not end. */
  readonly hangs: string[];
  /** Cases with an error that does not say what is wrong, or that left something. */
  readonly wrong: string[];
  /** How often each error came. */
  readonly outcomes: Map<string, number>;
}

/** Cases in one process: the recorder has room for the objects of some ten thousand. */
const SHARE = 4000;
const PATIENCE_MS = 60_000;
const ROOT = new URL("../../../", import.meta.url);
const IMPORTS = new URL("tools/std/import_map.json", ROOT).pathname;

/** Whether everything was refused or harmless. */
export function isClean(outcome: Outcome): boolean {
  const { gaps, crashes, hangs, wrong, ran, chosen } = outcome;
  const isWhole = chosen > 0 && ran === chosen;
  return isWhole && [gaps, crashes, hangs, wrong].every(({ length }) => length === 0);
}

/** Runs the cases that are chosen. */
export async function runMatrix(options: RunOptions): Promise<Outcome> {
  const folder = await Deno.makeTempDir({ prefix: "misuse" });
  try {
    return await new Runner(options, folder).run();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** How one process ended. */
interface Ending {
  /** The names of the cases that ended. */
  readonly ended: number;
  /** Why it ended too early, in words; `undefined` if it did not. */
  readonly died: string | undefined;
  readonly hangs: boolean;
}

class Runner {
  readonly #options: RunOptions;
  readonly #folder: string;
  #files = 0;

  constructor(options: RunOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
  }

  async run(): Promise<Outcome> {
    const list = await this.#plan();
    const outcome: Outcome = {
      generated: list.cases.length,
      chosen: 0,
      ran: 0,
      gaps: list.gaps,
      crashes: [],
      hangs: [],
      wrong: sameNames(list),
      outcomes: new Map(),
    };
    const chosen = this.#options.choose(list.cases).map(({ id }) => id);
    outcome.chosen = chosen.length;
    const shares: string[][] = [];
    for (let i = 0; i < chosen.length; i += SHARE) shares.push(chosen.slice(i, i + SHARE));
    const { jobs = 2, progress } = this.#options;
    const work = async (): Promise<void> => {
      for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
        await this.#runShare(share, outcome);
        progress?.(`${outcome.ran} of ${chosen.length}`);
      }
    };
    await Promise.all(Array.from({ length: jobs }, work));
    return outcome;
  }

  async #plan(): Promise<ListReport> {
    let list: ListReport | undefined;
    const ending = await this.#start(["plan", this.#path], (report) => {
      if ("cases" in report) list = report;
    });
    if (list === undefined) throw new Error(`Cannot generate cases: ${ending.died}`);
    return list;
  }

  get #path(): string {
    return `${this.#folder}/plan.json`;
  }

  async #runShare(ids: readonly string[], outcome: Outcome): Promise<void> {
    for (let rest = ids; rest.length > 0;) {
      const { ended, died, hangs } = await this.#runCases(rest, (report) => note(outcome, report));
      if (died === undefined) return;
      // What died behind the last case was not one of them.
      const last = Math.min(ended, rest.length - 1);
      this.#options.progress?.(`${rest[last]}: ${died.slice(0, 100)}`);
      (hangs ? outcome.hangs : outcome.crashes).push(`${rest[last]}: ${died}`);
      outcome.ran += Number(ended < rest.length);
      rest = rest.slice(last + 1);
    }
  }

  async #runCases(ids: readonly string[], note: (report: EndReport) => void): Promise<Ending> {
    const file = `${this.#folder}/${this.#files++}.txt`;
    await Deno.writeTextFile(file, ids.join("\n"));
    let ended = 0;
    const ending = await this.#start(["run", this.#path, file], (report) => {
      if (!("end" in report)) return;
      ended++;
      note(report);
    });
    const died = ending.died ?? (ended < ids.length ? "it ended too early" : undefined);
    return { ...ending, ended, died };
  }

  async #start(args: string[], take: (report: Report) => void): Promise<Omit<Ending, "ended">> {
    const { program, env = {}, patience = PATIENCE_MS } = this.#options;
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--allow-all",
        "--no-check",
        "--quiet",
        // A call that takes all memory shall end soon.
        "--v8-flags=--expose-gc,--max-old-space-size=512",
        `--import-map=${IMPORTS}`,
        program.href,
        ...args,
      ],
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const words = tail(child.stderr);
    let hangs = false;
    const silence = watchdog(patience, () => {
      hangs = true;
      child.kill("SIGKILL");
    });
    for await (const report of reports(child.stdout)) {
      silence.restart();
      take(report);
    }
    const { success, signal, code } = await child.status;
    silence.stop();
    const how = hangs ? `silent for ${patience} ms` : signal ?? `exit code ${code}`;
    return { hangs, died: success ? undefined : `${how} ${await words}` };
  }
}

/** Two cases of one name would be one case that runs twice. */
function sameNames({ cases }: ListReport): string[] {
  const names = new Set<string>();
  return cases.filter(({ id }) => names.size === names.add(id).size)
    .map(({ id }) => `${id}: two cases have this name`);
}

function note(outcome: Outcome, { end, outcome: name, wrong }: EndReport): void {
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
async function tail(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const MOST = 1500;
  let text = "";
  for await (const more of stream.pipeThrough(new TextDecoderStream())) {
    text += more;
    const report = text.indexOf("==ERROR: ");
    if (text.length > 4 * MOST) text = report >= 0 ? text.slice(report) : text.slice(-MOST);
    if (text.length > 4 * MOST) text = text.slice(0, 4 * MOST);
  }
  const report = text.indexOf("==ERROR: ");
  return report >= 0 ? text.slice(report, report + MOST) : text.slice(-MOST);
}

function watchdog(time: number, bark: () => void): { restart: () => void; stop: () => void } {
  let timer = setTimeout(bark, time);
  return {
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(bark, time);
    },
    stop: () => clearTimeout(timer),
  };
}
