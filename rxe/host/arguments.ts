/** The words of this process's command line. */

import { SetupError } from "./report.ts";

/**
 * The words that the user gave, which `Deno.args` does not always have: Deno leaves out carriage returns at the end of a
 * word, and replaces bytes that are not UTF-8.
 *
 * @throws {SetupError} If a word is not UTF-8.
 */
export function givenArguments(): string[] {
  const line = Deno.readFileSync("/proc/self/cmdline");
  const words = split(line);
  return words.slice(words.length - Deno.args.length).map(decode);
}

/** A zero byte ends each word. */
function split(line: Uint8Array): Uint8Array[] {
  const words: Uint8Array[] = [];
  for (let start = 0; start < line.length;) {
    const end = line.indexOf(0, start);
    words.push(line.subarray(start, end));
    start = end + 1;
  }
  return words;
}

function decode(word: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(word);
  } catch {
    const shown = JSON.stringify(new TextDecoder().decode(word));
    throw new SetupError(`Cannot pass on the argument ${shown}: it is not UTF-8`);
  }
}
