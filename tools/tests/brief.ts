/** Shortens what `deno test` prints to a line for each file, and to all that it says of failures. */

/** What colors a text on a terminal. */
// deno-lint-ignore no-control-regex
const COLORS = /\x1b\[[\d;]*m/g;

const FILE = /^running \d+ tests? from (?:\.\/)?(.*)$/;
/** The line of a test that has ended; those of its steps are indented. */
const ENDED = /^\S.* \.\.\. (ok|ignored|FAILED)(?: \([^()]*\))+$/;
const FAILED = /\bFAILED\b/;
/** What follows the last file. */
const REST = /^( ERRORS |(ok|FAILED) \| \d+ passed)/;

type Result = "ok" | "ignored" | "FAILED";

/** A file whose tests run. */
class File {
  readonly #name: string;
  readonly #start = performance.now();
  readonly #counts: Record<Result, number> = { ok: 0, ignored: 0, FAILED: 0 };
  #held: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Takes a line, and gives what is shown of it: a test that fails shows what it has printed too. */
  take(line: string, text: string): string[] {
    const ended = ENDED.exec(text)?.[1] as Result | undefined;
    if (ended !== undefined) this.#counts[ended]++;
    const all = [...this.#held, line];
    const isFailure = FAILED.test(text);
    this.#held = isFailure || ended !== undefined ? [] : all;
    return isFailure ? all : [];
  }

  /** The line of the file, behind what no test has ended. */
  end(): string[] {
    const { ok, ignored, FAILED } = this.#counts;
    const words = [`${ok} passed`];
    if (FAILED > 0) words.push(`${FAILED} FAILED`);
    if (ignored > 0) words.push(`${ignored} ignored`);
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(1);
    const held = this.#held.filter((line) => line !== "");
    return [...held, `${this.#name}: ${words.join(", ")}, ${seconds} s`];
  }
}

/** Gives the lines that are shown. */
export async function* brief(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let file: File | undefined;
  for await (const line of lines) {
    const text = line.replaceAll(COLORS, "");
    const name = FILE.exec(text)?.[1];
    if (name === undefined && !REST.test(text)) {
      yield* file?.take(line, text) ?? [line];
      continue;
    }
    if (file !== undefined) yield* file.end();
    file = name === undefined ? undefined : new File(name);
    if (name === undefined) yield line;
  }
  if (file !== undefined) yield* file.end();
}
