/** Runs one command of the project in a fresh guest. */

import { type GuestOptions, runInGuest as run } from "../../rxe/guest/run.ts";
import { stdArguments } from "../host/jsr.ts";
import { inProject, out, project } from "../host/paths.ts";

/** How the guest differs for this project from that for any other one. */
export async function inProjectOptions(options: GuestOptions): Promise<GuestOptions> {
  const std = (await stdArguments()).join(" ");
  return {
    cwd: project,
    share: [out],
    scratch: [inProject(".cache")],
    ...options,
    env: { IBVERBS_OUT: out, IBVERBS_STD: std, ...options.env },
  };
}

/** Runs a command in a guest as `runInGuest()` of rxe does, from the project's folder. */
export async function runInGuest(
  command: readonly string[],
  options: GuestOptions = {},
): Promise<number> {
  return await run(command, await inProjectOptions(options));
}
