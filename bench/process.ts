/** A contender's process: reads "ROW COUNT PARTS", answers with a number. */
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
  async ask(round: string, count: number, parts: number): Promise<number> {
    await this.tell(round, count, parts);
    return await this.answer();
  }

  /** Starts a round. */
  async tell(round: string, count: number, parts: number): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${round} ${count} ${parts}\n`));
  }

  /** The next number it says. */
  async answer(): Promise<number> {
    using _limit = killLater(this.#child);
    const { value, done } = await this.#lines.next();
    const number = Number(value);
    if (done || !Number.isFinite(number)) {
      throw new Error(
        `Cannot measure: contender ${this.#name} ${done ? "ended" : `said ${value}`}`,
      );
    }
    return number;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close();
    await this.#child.status;
  }
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
