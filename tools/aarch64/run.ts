/** Runs tests by Deno for aarch64. */

import { exists } from "../../rxe/host/shell.ts";
import { say } from "../../rxe/host/report.ts";
import { inProject, out, project } from "../host/paths.ts";
import { stdArguments } from "../host/jsr.ts";
import { add, countCases, type Counts, failedCases, NONE } from "../tests/junit.ts";
import { NOT_EMULATED, type Part } from "./parts.ts";

/** A part takes a minute or two where nothing else runs. */
const SECONDS = 1800;

/** Runs one part; a part that does not end well although no test failed counts as a failed test. */
export async function runPart({ name, files }: Part, programs: string): Promise<Counts> {
  const report = `${out}/junit-aarch64.xml`;
  await Deno.mkdir(out, { recursive: true });
  if (exists(report)) await Deno.remove(report);
  say(`\n== ${name}, on aarch64`);
  const options = ["--no-check", "--allow-all", "--v8-flags=--expose-gc", ...await stdArguments()];
  const deno = [`${programs}/deno`, "test", ...options, `--junit-path=${report}`, ...files];
  const { code } = await new Deno.Command("timeout", {
    args: ["--kill-after=5", `${SECONDS}`, ...deno],
    cwd: project,
    env: {
      PATH: `${programs}:${Deno.env.get("PATH") ?? ""}`,
      // Deno keeps machine code beside the modules.
      DENO_DIR: inProject(".cache/deno-aarch64"),
      IBVERBS_THUNKS: Deno.env.get("IBVERBS_THUNKS") ?? "on",
    },
    stdin: "null",
  }).spawn().status;
  return judged(code, exists(report) ? await Deno.readTextFile(report) : "");
}

/** Tests that cannot run under emulation count as left out. */
function judged(code: number, xml: string): Counts {
  const counts = countCases(xml);
  const left = failedCases(xml).filter((test) => Object.hasOwn(NOT_EMULATED, test));
  for (const test of left) say(`left out: "${test}": ${NOT_EMULATED[test]}`);
  const judged = add(counts, { passed: 0, failed: -left.length, ignored: left.length });
  if (code === 0 || counts.failed > 0) return judged;
  say(`error: deno test ended with status ${code}`);
  return add(judged, { ...NONE, failed: 1 });
}
