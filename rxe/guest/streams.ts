/** The guest's streams on the host's side. */

/**
 * An object that accepts bytes, such as `Deno.stdout`.
 *
 * @category Options
 */
export interface Sink {
  /** Accepts some or all of the bytes. The result is their number. */
  write(bytes: Uint8Array): Promise<number>;
}

/**
 * An object that provides bytes, such as `Deno.stdin`.
 *
 * @category Options
 */
export interface Source {
  /** Writes bytes to the start of the buffer. The result is their number, or null at the end. */
  read(bytes: Uint8Array): Promise<number | null>;
}

/** Passes on what is written, and reports the first byte. */
export class Noted implements Sink {
  readonly #sink: Sink;
  readonly #begins: () => void;

  constructor(sink: Sink, begins: () => void) {
    this.#sink = sink;
    this.#begins = begins;
  }

  async write(bytes: Uint8Array): Promise<number> {
    if (bytes.length > 0) this.#begins();
    return await this.#sink.write(bytes);
  }
}

/** Keeps what is written until it is released to another sink. */
export class Held implements Sink {
  readonly #kept: Uint8Array[] = [];
  #sink: Sink | undefined;

  async write(bytes: Uint8Array): Promise<number> {
    if (this.#sink) return await this.#sink.write(bytes);
    this.#kept.push(bytes.slice());
    return bytes.length;
  }

  /** Writes what was kept; everything that comes later goes to the sink at once. */
  async release(sink: Sink): Promise<void> {
    for (let bytes = this.#kept.shift(); bytes !== undefined; bytes = this.#kept.shift()) {
      await writeAll(sink, bytes);
    }
    this.#sink = sink;
  }
}

/** Passes bytes on and counts them. */
export class Copy {
  /** Rejects when the sink accepts no more, as with a closed pipe. */
  readonly broken: Promise<never>;
  #count = 0;
  #awaited: { count: number; resolve: () => void } | undefined;

  constructor(source: ReadableStream<Uint8Array>, sink: Sink) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.broken = promise;
    this.#pump(source, sink).catch(reject);
  }

  /** Waits until `count` bytes have been passed on since the start. */
  async reached(count: number): Promise<void> {
    if (this.#count >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = { count, resolve };
    await promise;
  }

  async #pump(source: ReadableStream<Uint8Array>, sink: Sink): Promise<void> {
    for await (const bytes of source) {
      await writeAll(sink, bytes);
      this.#count += bytes.length;
      if (this.#awaited && this.#count >= this.#awaited.count) this.#awaited.resolve();
    }
  }
}

/** Writes all of the bytes. */
export async function writeAll(sink: Sink, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length;) {
    offset += await sink.write(bytes.subarray(offset));
  }
}

/** Puts a text in front of each line, and passes whole lines on. */
export class Prefixed implements Sink {
  readonly #sink: Sink;
  readonly #prefix: string;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(sink: Sink, prefix: string) {
    this.#sink = sink;
    this.#prefix = prefix;
  }

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
    await writeAll(this.#sink, new TextEncoder().encode(text));
  }
}

/** Keeps the end of what the kernel's console printed. */
export class Tail {
  /** What is kept. */
  text = "";
  /** Fulfilled when the stream has ended. */
  readonly ended: Promise<void>;

  constructor(source: ReadableStream<Uint8Array>, size: number, sink?: Sink) {
    this.ended = this.#collect(source, size, sink).catch(() => {});
  }

  async #collect(source: ReadableStream<Uint8Array>, size: number, sink?: Sink): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of source) {
      await sink?.write(bytes);
      const all = this.text + decoder.decode(bytes, { stream: true });
      this.text = all.replaceAll("\r", "").slice(-size);
    }
  }
}

/** Splits a stream of text into its lines. */
export async function* lines(source: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of source) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
