/** Tells apart what several hosts print. */

import { type Sink, writeAll } from "./streams.ts";

const encoder = new TextEncoder();

/** Puts a text in front of each line, and passes whole lines on. */
export class Prefixed implements Sink {
  readonly #sink: Sink;
  readonly #prefix: string;
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** Prints to a sink. */
  constructor(sink: Sink, prefix: string) {
    this.#sink = sink;
    this.#prefix = prefix;
  }

  /** Takes a piece of the output. */
  async write(bytes: Uint8Array): Promise<number> {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop()!;
    await this.#print(lines);
    return bytes.length;
  }

  /** Passes on a last line that has no end. */
  async end(): Promise<void> {
    if (this.#rest !== "") await this.#print([this.#rest]);
    this.#rest = "";
  }

  async #print(lines: readonly string[]): Promise<void> {
    const text = lines.map((line) => `${this.#prefix}${line}\n`).join("");
    await writeAll(this.#sink, encoder.encode(text));
  }
}
