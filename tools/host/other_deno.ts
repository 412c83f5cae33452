/** Runs tests by another Deno than the one that runs the tools. */

import { say } from "../../rxe/host/report.ts";
import { exists } from "../../rxe/host/shell.ts";
import { add, countCases, type Counts, failedCases, NONE } from "../tests/junit.ts";
import { inProject, out, project } from "./paths.ts";

/** A wait that never ends fails. Other runs take a minute or two where nothing else runs. */
const SECONDS = 1800;

/** A Deno: the path of the program, a name for its files, arguments for `deno test`, and its PATH. */
export interface OtherDeno {
  readonly program: string;
  readonly name: string;
  readonly options: readonly string[];
  readonly path: string;
}

/**
 * Runs tests. A run that does not end well although no test failed counts as a failed test.
 *
 * @param excused Tests that may fail, with the reason: they count as left out.
 */
export async function runTests(
  { program, name, options, path }: OtherDeno,
  files: readonly string[],
  excused: Readonly<Record<string, string>> = {},
): Promise<Counts> {
  const report = `${out}/junit-${name}.xml`;
  await Deno.mkdir(out, { recursive: true });
  if (exists(report)) await Deno.remove(report);
  const deno = [program, "test", "--no-check", "--allow-all", "--v8-flags=--expose-gc"];
  const { code } = await new Deno.Command("timeout", {
    args: ["--kill-after=5", `${SECONDS}`, ...deno, ...options, `--junit-path=${report}`, ...files],
    cwd: project,
    // Deno keeps machine code beside the modules.
    env: { PATH: path, DENO_DIR: inProject(`.cache/${name}`) },
    stdin: "null",
  }).spawn().status;
  const xml = exists(report) ? await Deno.readTextFile(report) : "";
  const counts = countCases(xml);
  const left = failedCases(xml).filter((test) => Object.hasOwn(excused, test));
  for (const test of left) say(`left out: "${test}": ${excused[test]}`);
  const judged = add(counts, { passed: 0, failed: -left.length, ignored: left.length });
  if (code === 0 || counts.failed > 0) return judged;
  say(`error: deno test ended with status ${code}`);
  return add(judged, { ...NONE, failed: 1 });
}
