/** Stands in for @std/cli/unstable-progress-bar where JSR cannot be reached. It has the options that the examples use. */

const COLUMNS = 50;
const CLEAR_LINE = "\r\x1b[K";

/** A bar on the terminal, which is drawn each second. */
export class ProgressBar {
  value = 0;
  readonly max: number;
  readonly #clear: boolean;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(
    { max, clear = false, writable = Deno.stderr.writable }: {
      readonly max: number;
      readonly clear?: boolean;
      readonly writable?: WritableStream<Uint8Array>;
    },
  ) {
    this.max = max;
    this.#clear = clear;
    this.#writer = writable.getWriter();
    this.#timer = setInterval(() => this.#draw(), 1000);
    this.#draw();
  }

  #draw(): void {
    const done = Math.trunc(Math.min(this.value / this.max, 1) * COLUMNS);
    this.#write(`${CLEAR_LINE}[${"#".repeat(done)}${"-".repeat(COLUMNS - done)}]`);
  }

  #write(text: string): void {
    this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** Draws it for the last time, or clears it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#clear) this.#write(CLEAR_LINE);
    else {
      this.#draw();
      this.#write("\n");
    }
    await this.#writer.ready;
    this.#writer.releaseLock();
  }
}
