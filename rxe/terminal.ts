/** The terminal of this process, which a command in the guest gets. */

import type { Source } from "./guest/streams.ts";

/** Whether all three streams of this process are terminals. */
export function isAtTerminal(): boolean {
  return [Deno.stdin, Deno.stdout, Deno.stderr].every((stream) => stream.isTerminal());
}

/**
 * What is typed. From the first read on, each key goes to the command as it is, Ctrl-C too: the guest's terminal knows
 * what it means. The terminal is restored when this is disposed.
 */
export class Typed implements Source, Disposable {
  #isRaw = false;

  async read(bytes: Uint8Array): Promise<number | null> {
    if (!this.#isRaw) Deno.stdin.setRaw(true);
    this.#isRaw = true;
    return await Deno.stdin.read(bytes);
  }

  [Symbol.dispose](): void {
    if (this.#isRaw) Deno.stdin.setRaw(false);
    this.#isRaw = false;
  }
}
