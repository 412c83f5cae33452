// A program in a process of its own, to which a test talks by lines of JSON, and which it kills.

import { denoCommand } from "./programs.ts";

/** The process. Leaving its scope ends it. */
export class PeerProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

  /** Starts a program. */
  constructor(program: string, ...words: string[]) {
    const [command, ...args] = denoCommand(program, words);
    this.#child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped" }).spawn();
    this.#reader = this.#child.stdout.getReader();
  }

  /** Waits for a line. */
  async hear(): Promise<unknown> {
    const decoder = new TextDecoder();
    let text = "";
    while (!text.endsWith("\n")) {
      const { value } = await this.#reader.read();
      if (value === undefined) throw new Error("Cannot go on: the peer has ended");
      text += decoder.decode(value, { stream: true });
    }
    return JSON.parse(text);
  }

  /** Sends the only line. */
  async tell(value: unknown): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
    await writer.close();
  }

  /** Kills it, and comes back when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    const { signal } = await this.#child.status;
    if (signal !== "SIGKILL") throw new Error(`Cannot kill the peer: it has ended, ${signal}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It is gone already.
    }
    await this.#child.status;
    await this.#reader.cancel();
  }
}
