/** Running the host's programs. */

import { reasonOf, SetupError } from "./report.ts";

/** The result of a program. */
export interface Finished {
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end and keeps its output. */
export async function capture(command: string, ...args: string[]): Promise<Finished> {
  const process = start(command, {
    args,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { LC_ALL: "C", NO_COLOR: "1", DEBIAN_FRONTEND: "noninteractive" },
  });
  const decoder = new TextDecoder();
  const { code, stdout, stderr } = await process.output();
  return { status: code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/**
 * Starts a program.
 *
 * @throws {SetupError} If the system refuses it.
 */
export function start(command: string, options: Deno.CommandOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(command, options).spawn();
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    const reason = isMissing ? "it is not installed" : reasonOf(error);
    if (reason === undefined) throw error;
    throw new SetupError(`Cannot run ${command}: ${reason}`);
  }
}

/** Runs a program that has to succeed; its standard output. */
export async function demand(command: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await capture(command, ...args);
  if (status !== 0) {
    throw new SetupError(
      `${command} ${args.join(" ")} failed (${status}): ${lastLines(stderr || stdout, 8)}`,
    );
  }
  return stdout;
}

/** The end of a text, for error messages. */
export function lastLines(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}

/**
 * A word that a POSIX shell reads back as exactly `text`.
 *
 * @throws {SetupError} If no program can get it as an argument or a variable.
 */
export function quote(text: string): string {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new SetupError(`Cannot pass on ${JSON.stringify(text)}: it has a zero, or is no Unicode`);
  }
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Whether a file or folder is there. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}
