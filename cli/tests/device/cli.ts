// Runs the command-line tool, in a process of its own or, which is faster, in that of the test.

import { run } from "../../run.ts";
import { recorder } from "../pure/terminal.ts";
import { type Ending, type Program, start, startDeno } from "../../../tests/device/programs.ts";

const MAIN = new URL("../../mod.ts", import.meta.url).pathname;

/** Starts the tool with arguments. */
export function startCli(
  args: readonly string[],
  permissions: readonly string[] = ["--allow-ffi"],
): Program {
  return startDeno(MAIN, args, permissions);
}

/** Runs the tool to its end in this process. */
export async function cli(...args: readonly string[]): Promise<Ending> {
  const recorded = recorder();
  const code = await run(args, recorded.terminal);
  return { code, signal: null, stdout: recorded.out, stderr: recorded.err };
}

/** Runs the tool to its end in a process of its own. */
export async function cliProcess(
  args: readonly string[],
  permissions?: readonly string[],
): Promise<Ending> {
  await using program = startCli(args, permissions);
  return await program.ending;
}

/** Runs a program of the system to its end. */
export async function tool(name: string, args: readonly string[]): Promise<Ending> {
  await using program = start(name, ...args);
  return await program.ending;
}
