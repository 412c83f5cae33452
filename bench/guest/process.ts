/** A process that reads lines and answers with lines. */

import type { Sample } from "../measurement.ts";
import { parseSample } from "../process.ts";
import { linesOf } from "./lines.ts";

const LIMIT_SECONDS = 120;

/** Its answers are awaited for 120 s at most: then it is ended. It ends with this process. */
export class Process {
  readonly #child: Deno.ChildProcess;
  readonly #name: string;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;

  /** Starts it. The name is for messages. */
  constructor(name: string, command: readonly string[]) {
    const [program, ...args] = command;
    this.#name = name;
    this.#child = new Deno.Command(program!, { args, stdin: "piped", stdout: "piped" }).spawn();
    this.#child.unref();
    this.#input = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  /** Its number. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Writes a line. */
  async tell(...words: readonly (string | number)[]): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${words.join(" ")}\n`));
  }

  /** The next line that it says. */
  async line(): Promise<string> {
    const timer = setTimeout(() => this.#child.kill(), LIMIT_SECONDS * 1000);
    try {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`Cannot measure: contender ${this.#name} ended`);
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The figures in the next line. */
  async sample(): Promise<Sample> {
    const line = await this.line();
    const sample = parseSample(line);
    if (sample !== undefined) return sample;
    throw new Error(`Cannot measure: contender ${this.#name} said ${line}`);
  }

  /** Ends it. */
  async end(): Promise<void> {
    await this.#input.close();
    await this.#child.status;
  }
}
