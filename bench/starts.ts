/** What comes before any work, on the host with the no-op provider: a program starts anew for each sample. */

import { type Name, withProvider } from "./contender.ts";
import type { Entry, Programs } from "./row.ts";

const here = new URL(".", import.meta.url).pathname;
const DENO = [Deno.execPath(), "run", "-A", "--no-check"];
const PYTHON = "/usr/bin/python3";

/** Programs that answer a datagram, and end. */
const FIRST_REPLY: Readonly<Record<string, (programs: Programs) => string[]>> = {
  C: ({ contender }) => [contender!, "reply"],
  Deno: ({ importMap }) => [
    ...[...DENO, `--import-map=${importMap}`],
    `${here}deno/reply.ts`,
  ],
  pyverbs: () => [PYTHON, `${here}python/reply.py`],
};

export function firstReply(who: Name): Entry {
  const measure = (_count: number, programs: Programs): Promise<{ value: number }> =>
    run(FIRST_REPLY[who]!(programs), withProvider(who, programs));
  return { who, measure };
}

/** Programs that do nothing. */
const BARE = {
  "bare Deno": [...DENO, `${here}deno/nothing.ts`],
  "bare Python": [PYTHON, "-c", ""],
};

export function bareStart(who: keyof typeof BARE): Entry {
  return { who, measure: () => run(BARE[who]) };
}

/** Runs programs until Deno has kept their compiled code, as Python keeps its bytecode after the first import. */
export async function keepCompiled({ module }: Programs): Promise<void> {
  // A program that calls Deno.exit() keeps none.
  for (let i = 0; i < 2; i++) await run([...DENO, module!]);
}

/** From the start of a program until its end: nanoseconds. */
async function run(
  [program, ...args]: readonly string[],
  env: Record<string, string> = {},
): Promise<{ value: number }> {
  const start = performance.now();
  const child = new Deno.Command(program!, { args, env, stdin: "null", stdout: "null" }).spawn();
  const { success } = await child.status;
  if (!success) throw new Error(`Cannot measure: ${program} ${args.join(" ")} failed`);
  return { value: (performance.now() - start) * 1e6 };
}
