/** The processes of contenders. */

import type { Sample } from "./measurement.ts";

/**
 * A contender's process. It reads lines "ROUND COUNT PARTS" and answers each with a line: the value, then any other
 * figures as "NAME=NUMBER". A process that cannot measure ends.
 */
export class Contender implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;
  readonly #name: string;

  /** Starts it. */
  constructor(name: string, command: readonly string[], env: Record<string, string>) {
    const [program, ...args] = command;
    this.#name = name;
    this.#child = new Deno.Command(program!, { args, env, stdin: "piped", stdout: "piped" })
      .spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = lines(this.#child.stdout);
  }

  /** Has it run a round of so many parts. */
  async ask(round: string, count: number, parts: number): Promise<Sample> {
    await this.tell(round, count, parts);
    return await this.answer(round);
  }

  /** Starts a round. */
  async tell(round: string, count: number, parts: number): Promise<void> {
    try {
      await this.#input.write(new TextEncoder().encode(`${round} ${count} ${parts}\n`));
    } catch (cause) {
      throw new Error(`Cannot measure ${round}: contender ${this.#name} has ended`, { cause });
    }
  }

  /** The next thing it says. */
  async answer(round: string): Promise<Sample> {
    using _limit = killLater(this.#child);
    const { value, done } = await this.#lines.next();
    const sample = done ? undefined : parseSample(value);
    if (sample !== undefined) return sample;
    const what = done ? `ended with status ${(await this.#child.status).code}` : `said "${value}"`;
    throw new Error(`Cannot measure ${round}: contender ${this.#name} ${what}`);
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    // It may have ended by itself, which its answer has told.
    await this.#input.close().catch(() => {});
    await this.#child.status;
  }
}

/** What a line of a contender says; undefined if it is not a measurement. */
export function parseSample(line: string): Sample | undefined {
  const [value = "", ...others] = line.trim().split(" ");
  const figures = others.map((word) => word.split("="));
  const numbers = [["value", value], ...figures].map(([name, text]) => [name, toNumber(text)]);
  if (numbers.some(([, number]) => Number.isNaN(number))) return undefined;
  return Object.fromEntries(numbers);
}

/** A number from 0: what is less was not measured. */
function toNumber(text: string | undefined): number {
  const number = text === undefined || text === "" ? NaN : Number(text);
  return number >= 0 && number < Infinity ? number : NaN;
}

const LIMIT_SECONDS = 120;

/** Ends a contender that does not answer, instead of waiting for ever. */
function killLater(child: Deno.ChildProcess): Disposable {
  const timer = setTimeout(() => child.kill(), LIMIT_SECONDS * 1000);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

async function* lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
