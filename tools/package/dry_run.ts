/** Tries to publish. */

import { join } from "node:path/posix";
import { capture, type Finished } from "../host/setup.ts";
import { PACKAGES } from "./packages.ts";
import { serve } from "./registry.ts";

/** Runs `deno publish --dry-run` for each package of a workspace. The result is that of the first that fails, or of the last. */
export async function dryRun(folder: string): Promise<Finished> {
  await using registry = await serve();
  const command = [Deno.execPath(), "publish", "--dry-run", "--allow-dirty"];
  let ended: Finished = { status: 0, stdout: "", stderr: "" };
  for (const one of PACKAGES) {
    const setting = ["-C", join(folder, one.folder), `JSR_URL=${registry.url}`];
    ended = await capture("env", ...setting, ...command);
    if (ended.status !== 0) break;
  }
  return ended;
}
