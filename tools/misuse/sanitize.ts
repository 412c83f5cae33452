/**
 * Looks for reads and writes beyond the memory that native code is given: in the verbs that the module calls, and in the C
 * programs of the tests.
 */

import { say, SetupError } from "../../rxe/host/report.ts";
import { demand } from "../../rxe/host/shell.ts";
import { inProject } from "../host/paths.ts";

/** What AddressSanitizer needs in the environment of Deno: its library comes first, and V8's own memory is never freed. */
export async function sanitizerEnv(): Promise<Record<string, string>> {
  return {
    IBVERBS_SANITIZE: "address",
    ASAN_OPTIONS: "detect_leaks=0:allocator_may_return_null=1",
    LD_PRELOAD: (await demand("gcc", "-print-file-name=libasan.so")).trim(),
  };
}

/** How programs under a sanitizer ended. */
export interface Checked {
  readonly ran: number;
  /** What is wrong, a text for each. */
  readonly faults: string[];
}

/**
 * A verb that is given a struct that is too short: the sanitizer must find it, or its other results mean nothing.
 *
 * @throws {SetupError} If it does not.
 */
export async function checkSanitizer(env: Record<string, string>): Promise<void> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...runArgs(), inProject("tools/misuse/short_struct.ts")],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  const text = new TextDecoder().decode(stderr);
  if (!/AddressSanitizer: heap-buffer-overflow/.test(text)) {
    throw new SetupError(`AddressSanitizer does not find a struct that is too short: ${text}`);
  }
}

function runArgs(): string[] {
  const imports = `--import-map=${inProject("tools/std/import_map.json")}`;
  return ["run", "--allow-all", "--no-check", "--quiet", imports];
}

/** Makes each request of the C program, built with AddressSanitizer and under valgrind. */
export async function checkRequests(env: Record<string, string>): Promise<Checked> {
  const sanitized = await requestsProgram(env);
  const plain = await requestsProgram({});
  const names = await requestNames(plain);
  // The recorder prints padding, which C leaves undefined: only reads and writes beyond memory count.
  const valgrind = ["valgrind", "-q", "--undef-value-errors=no", "--error-exitcode=99"];
  const commands = names.flatMap((name) => [
    { command: [sanitized, name], env: { ASAN_OPTIONS: "detect_leaks=0" } },
    { command: [...valgrind, plain, name], env: {} },
  ]);
  say(`${commands.length} requests in C`);
  const faults: string[] = [];
  for (const { command: [program, ...args], env } of commands) {
    const { code, stderr } = await new Deno.Command(program!, {
      args,
      env,
      stdout: "null",
      stderr: "piped",
    }).output();
    if (code === 0) continue;
    faults.push(`${program} ${args.join(" ")}: ${code} ${new TextDecoder().decode(stderr)}`);
  }
  return { ran: commands.length, faults };
}

/** Flags come from the environment, so that another process builds it. */
async function requestsProgram(env: Record<string, string>): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...runArgs(), inProject("tools/misuse/requests_program.ts")],
    env: { IBVERBS_SANITIZE: env.IBVERBS_SANITIZE ?? "" },
  }).output();
  if (!success) throw new SetupError(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

/** The program itself prints them. */
async function requestNames(program: string): Promise<string[]> {
  return (await demand(program)).trimEnd().split("\n");
}
