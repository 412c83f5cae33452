import { runDeno, stdOptions } from "../../subprocess.ts";

/** Runs an example without any rights: none is needed to read the command line. */
export async function runExample(
  [name, ...args]: readonly string[],
  input: string = "",
): Promise<[code: number, output: string]> {
  const options = ["--quiet", "--no-check", "--no-prompt", ...stdOptions()];
  const words = ["run", ...options, `examples/${name}.ts`, ...args];
  const { code, stdout, stderr } = await runDeno(words, { input });
  return [code, stdout + stderr];
}
