/** Processes that do the work of rows. */

import type { Sample } from "./measurement.ts";
import type { Entry, Programs } from "./row.ts";

/** The time that an answer, and the end of a process, may take. */
const LIMIT_MS = 30_000;
const LIMIT_IN_GUEST_MS = 300_000;
const ENDING_MS = 3000;

type Words = readonly (string | number)[];

/**
 * A contender's process. It reads lines, and answers each with a line: the value, then any other figures as
 * "NAME=NUMBER". A process that cannot measure ends; one that does not answer is ended.
 */
export class Contender implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;
  readonly #name: string;
  readonly #limitMs: number;
  /** The last command that it was given. */
  #told: string | number = "";

  /** Starts it. The name is for messages. */
  constructor(name: string, command: readonly string[], env?: Record<string, string>) {
    const [program, ...args] = command;
    this.#name = name;
    // A process of the host has an environment of its own.
    this.#limitMs = env === undefined ? LIMIT_IN_GUEST_MS : LIMIT_MS;
    this.#child = new Deno.Command(program!, {
      args,
      env: env ?? {},
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Has it run a round. */
  async ask(...words: Words): Promise<Sample> {
    await this.tell(...words);
    const line = await this.line();
    const sample = parseSample(line);
    if (sample === undefined) throw this.#failure(`said "${line}"`);
    return sample;
  }

  async tell(...words: Words): Promise<void> {
    this.#told = words[0]!;
    try {
      await this.#input.write(new TextEncoder().encode(`${words.join(" ")}\n`));
    } catch (cause) {
      throw this.#failure("has ended", cause);
    }
  }

  async line(): Promise<string> {
    using _ = this.#endIn(this.#limitMs);
    const { value, done } = await this.#lines.next();
    if (!done) return value;
    throw this.#failure(`ended with status ${(await this.#child.status).code}`);
  }

  /** Ends it after so many milliseconds, unless what it returns is disposed before. */
  #endIn(milliseconds: number): Disposable {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), milliseconds);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }

  #failure(what: string, cause?: unknown): Error {
    return new Error(`Cannot measure ${this.#told}: contender ${this.#name} ${what}`, { cause });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It may have ended by itself, as its answer says.
    await this.#input.close().catch(() => {});
    // It may wait for another process that has failed.
    using _ = this.#endIn(ENDING_MS);
    await this.#child.status;
  }
}

/** What a line of a contender says; undefined if it is not a measurement. */
export function parseSample(line: string): Sample | undefined {
  const words = `value=${line.trim()}`.split(" ").map((word) => word.split("="));
  const figures = words.map(([name, text]) => [name, text ? Number(text) : NaN] as const);
  const isMeasured = figures.every(([, number]) => number >= 0 && number < Infinity);
  return isMeasured ? Object.fromEntries(figures) : undefined;
}

export async function* linesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}

/** Runs work again until it has not become 5 % faster for so many milliseconds: V8 compiles in several steps. */
export async function warmUp(run: () => Promise<Sample>, patience: number = 1500): Promise<void> {
  let best = Infinity;
  let last = performance.now();
  while (performance.now() - last < patience) {
    const { value } = await run();
    if (value > 0.95 * best) continue;
    best = value;
    last = performance.now();
  }
}

/** Contenders whose processes do work alone. "old" is the program of Deno with the package of `--old`. */
export type Name = "C" | "Deno" | "pyverbs" | "Deno, old";

const here = new URL(".", import.meta.url).pathname;

/** Starts one; on the host with the no-op provider. */
function start(name: Name, programs: Programs, isNative: boolean): Contender {
  const map = programs[name === "Deno" ? "importMap" : "oldImportMap"];
  const deno = [
    ...[Deno.execPath(), "run", "-A", "--no-check", `--import-map=${map}`],
    `${here}deno/contender.ts`,
  ];
  const python = ["/usr/bin/python3", "-B", `${here}python/contender.py`];
  const commands = { C: [programs["contender"]!], pyverbs: python, Deno: deno, "Deno, old": deno };
  return new Contender(name, commands[name], isNative ? withProvider(name, programs) : undefined);
}

/** What has a program use a library in place of libibverbs. */
export function withLibrary(isPreloaded: boolean, library: string): Record<string, string> {
  return isPreloaded ? { LD_PRELOAD: library } : { IBVERBS_LIBRARY: library };
}

/** What has a program use the provider that does nothing, which needs the recorder. */
export function withProvider(name: Name, programs: Programs): Record<string, string> {
  const { provider, recorder } = programs;
  const isPreloaded = name === "C" || name === "pyverbs";
  return withLibrary(isPreloaded, isPreloaded ? `${provider}:${recorder}` : provider!);
}

/** Parts of a round. The middle one counts, so an interruption does not. */
const PARTS = 20;

/** A round, after a warm-up if there is a patience for it. */
async function run(process: Contender, words: Words, patience: number): Promise<Sample> {
  if (patience > 0) await warmUp(() => process.ask(...words), patience);
  return await process.ask(...words);
}

/** Each round has a new process: no round depends on what was measured before. */
export function native(name: Name, round: string, who: string = name): Entry {
  const entry: Entry = {
    who,
    measure: async (count, programs) => {
      await using process = start(name, programs, true);
      return await run(process, [round, count / PARTS, PARTS], 150);
    },
  };
  return name === "Deno" ? { ...entry, old: native("Deno, old", round) } : entry;
}

/** Processes that go on from round to round: in the guest their start takes seconds. */
const kept = new Map<string, AsyncDisposable>();

/** The process of that key; it is started if there is none. It ends with the row. */
export async function keep<T extends AsyncDisposable>(
  key: string,
  start: () => T | Promise<T>,
): Promise<{ process: T; isNew: boolean }> {
  const known = kept.get(key) as T | undefined;
  const process = known ?? await start();
  kept.set(key, process);
  return { process, isNew: known === undefined };
}

/** Ends the processes of a row. */
export async function endContenders(): Promise<void> {
  await Promise.all([...kept.values()].map((process) => process[Symbol.asyncDispose]()));
  kept.clear();
}

export function inGuest(name: Name, round: string): Entry {
  return {
    who: name,
    measure: async (count, programs) => {
      const { process, isNew } = await keep(name, () => start(name, programs, false));
      return await run(process, [round, count / PARTS, PARTS], isNew ? 1500 : 0);
    },
  };
}
