/** Lines of a program's output. */

import type { Sink } from "../../rxe/guest/streams.ts";

/** Takes bytes, and calls back with each whole line. */
export class Lines implements Sink {
  readonly #decoder: TextDecoder = new TextDecoder();
  readonly #use: (line: string) => void;
  #rest = "";

  /** Calls back with each line. */
  constructor(use: (line: string) => void) {
    this.#use = use;
  }

  /** Takes bytes. */
  write(bytes: Uint8Array): Promise<number> {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop()!;
    lines.forEach(this.#use);
    return Promise.resolve(bytes.length);
  }
}
