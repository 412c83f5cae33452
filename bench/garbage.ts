/** Collections of garbage. */

import type { Sample } from "./measurement.ts";

const MILLION = 1_000_000;
const MORE = 2;
const contender = new URL("deno/contender.ts", import.meta.url).pathname;

/**
 * The collections that a million operations of a round make: the difference between runs of 3 and of 1 million operations,
 * so that those of starting and of compiling are left out. `value` counts scavenges, `full` full collections.
 */
export async function collections(
  programs: Readonly<Record<string, string>>,
  round: string,
): Promise<Sample> {
  const few = await trace(programs, round, MILLION);
  const many = await trace(programs, round, (1 + MORE) * MILLION);
  const difference = (kind: RegExp): number => {
    return Math.max(0, (count(many, kind) - count(few, kind)) / MORE);
  };
  return { value: difference(/: Scavenge /g), full: difference(/: Mark-Compact /g) };
}

async function trace(
  programs: Readonly<Record<string, string>>,
  round: string,
  operations: number,
): Promise<string> {
  const map = `--import-map=${programs["importMap"]}`;
  const args = ["run", "-A", "--no-check", "--v8-flags=--trace-gc", map, contender];
  const child = new Deno.Command(Deno.execPath(), {
    args,
    env: { IBVERBS_LIBRARY: programs["provider"]! },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(`${round} ${operations} 1\n`));
  await input.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`Cannot measure ${round}: contender Deno failed`);
  return new TextDecoder().decode(stdout);
}

function count(text: string, kind: RegExp): number {
  return text.match(kind)?.length ?? 0;
}
