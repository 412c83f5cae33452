// Programs of the documents, and what they print.

import { assertEquals } from "@std/assert";
import { writeSnippets } from "../../../tools/docs/documents.ts";
import { differenceFrom, type Fence } from "../../../tools/docs/fences.ts";
import { project } from "../../../tools/host/paths.ts";
import { type Ending, type Program, startDeno } from "../programs.ts";

/** Sends to a program while it runs. */
export type Peer = (program: Program) => Promise<void>;

/**
 * Runs programs, one after the other in one process: an emulated processor takes seconds to start one. They must end by
 * themselves, and print what is shown.
 */
export async function runTogether(
  fences: readonly Fence[],
  allow: readonly string[] = [],
): Promise<void> {
  await using written = await writeSnippets(fences);
  const mark = "== next program";
  const imports = written.files.map((file) =>
    `await import("${file}");\nconsole.log("${mark}");\n`
  );
  const all = `${written.files[0]}.all.ts`;
  await Deno.writeTextFile(all, imports.join(""));
  const { code, stdout, stderr } = await runProgram(all, { allow });
  const printed = stdout.split(`${mark}\n`);
  const reached = fences[printed.length - 1];
  assertEquals([stderr, code], ["", 0], `${reached?.document}, line ${reached?.line}`);
  const differences = fences.map(({ output }, i) =>
    output === undefined ? undefined : differenceFrom(output, printed[i]!)
  );
  assertEquals(differences, fences.map(() => undefined));
}

/** Runs a program as the documents say, with a peer if it needs one. A program that does not end is killed. */
export async function runProgram(
  file: string,
  { peer, allow = [] }: { readonly peer?: Peer | undefined; readonly allow?: readonly string[] },
): Promise<Ending> {
  const options = { cwd: project, env: { NO_COLOR: "1" } };
  const program = startDeno(file, [], ["--allow-ffi", ...allow], options);
  try {
    await peer?.(program);
  } catch (cause) {
    await program.kill();
    throw new Error(`Cannot send to the program: ${(await program.ending).stderr}`, { cause });
  }
  const ending = await program.ending;
  await program[Symbol.asyncDispose]();
  return ending;
}
