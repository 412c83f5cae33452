/** Looks for reads and writes beyond the memory that native code is given, in the verbs that the module calls. */

import { capture, demand, SetupError } from "../host/setup.ts";
import { inProject } from "../host/paths.ts";

/** What AddressSanitizer needs in the environment of Deno: its library comes first, and V8's own memory is never freed. */
export async function sanitizerEnv(): Promise<Record<string, string>> {
  return {
    IBVERBS_SANITIZE: "address",
    ASAN_OPTIONS: "detect_leaks=0:allocator_may_return_null=1",
    LD_PRELOAD: (await demand("gcc", "-print-file-name=libasan.so")).trim(),
  };
}

/** The arguments of env that run a program of this folder. */
function program(name: string, env: Readonly<Record<string, string>>): string[] {
  const imports = `--import-map=${inProject("tools/std/import_map.json")}`;
  const deno = [Deno.execPath(), "run", "--allow-all", "--no-check", "--quiet", imports];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...variables, ...deno, inProject(`tools/misuse/${name}.ts`)];
}

/**
 * A verb that is given a struct that is too short: the sanitizer must find it, or its other results mean nothing.
 *
 * @throws {SetupError} If it does not.
 */
export async function checkSanitizer(env: Readonly<Record<string, string>>): Promise<void> {
  const { stderr } = await capture("env", ...program("short_struct", env));
  if (/AddressSanitizer: heap-buffer-overflow/.test(stderr)) return;
  throw new SetupError(`AddressSanitizer does not find a struct that is too short: ${stderr}`);
}
