/** The processes of contenders. */

import type { Sample } from "./measurement.ts";

const LIMIT_SECONDS = 120;

/**
 * A contender's process. It reads lines "ROUND COUNT PARTS" and answers each with a line: the value, then any other
 * figures as "NAME=NUMBER". A process that cannot measure ends; one that does not answer is ended.
 */
export class Contender implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;
  readonly #name: string;
  /** The word that it was told last. */
  #told: string | number = "";

  /** Starts it. The name is for messages. */
  constructor(name: string, command: readonly string[], env: Record<string, string> = {}) {
    const [program, ...args] = command;
    this.#name = name;
    this.#child = new Deno.Command(program!, { args, env, stdin: "piped", stdout: "piped" })
      .spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  /** Lets it end with this process. */
  unref(): this {
    this.#child.unref();
    return this;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Has it run a round of so many parts. */
  async ask(round: string, count: number, parts: number): Promise<Sample> {
    await this.tell(round, count, parts);
    return await this.sample();
  }

  async tell(...words: readonly (string | number)[]): Promise<void> {
    this.#told = words[0]!;
    try {
      await this.#input.write(new TextEncoder().encode(`${words.join(" ")}\n`));
    } catch (cause) {
      throw new Error(`Cannot measure ${this.#told}: contender ${this.#name} has ended`, { cause });
    }
  }

  async line(): Promise<string> {
    const timer = setTimeout(() => this.#child.kill(), LIMIT_SECONDS * 1000);
    try {
      const { value, done } = await this.#lines.next();
      if (!done) return value;
      const { code } = await this.#child.status;
      throw new Error(
        `Cannot measure ${this.#told}: contender ${this.#name} ended with status ${code}`,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async sample(): Promise<Sample> {
    const line = await this.line();
    const sample = parseSample(line);
    if (sample !== undefined) return sample;
    throw new Error(`Cannot measure ${this.#told}: contender ${this.#name} said "${line}"`);
  }

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
