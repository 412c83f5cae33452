/** Runs the tests so that they note the verbs they call. */

import { project } from "../host/paths.ts";
import { SetupError } from "../../rxe/host/report.ts";
import { TRACES } from "./tested.ts";

/** Runs all tests with `tests/trace.ts` before each file. */
export async function traceTests(): Promise<void> {
  await Deno.remove(TRACES, { recursive: true }).catch(() => {});
  await Deno.mkdir(TRACES, { recursive: true });
  const preload = `--preload=${project}/tests/trace.ts`;
  const args = ["task", "test", "--no-check", "--", preload];
  const { success } = await new Deno.Command(Deno.execPath(), { args, cwd: project }).spawn()
    .status;
  if (!success) throw new SetupError("Cannot trace tests: some of them failed");
}
