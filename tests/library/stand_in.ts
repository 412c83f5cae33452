// Puts a library of the tests in the place of one of the system.

import { compileC } from "../c/compile.ts";

/**
 * Compiles a C file, and opens it where a variable of the environment names the library of the system.
 *
 * @param bind Opens the library.
 * @returns The path of what was compiled.
 */
export async function standIn(variable: string, file: string, bind: () => void): Promise<string> {
  const path = await compileC(file, ["-shared", "-fPIC"]);
  const before = Deno.env.get(variable);
  Deno.env.set(variable, path);
  bind();
  if (before === undefined) Deno.env.delete(variable);
  else Deno.env.set(variable, before);
  return path;
}
