/**
 * Checks form, types and documentation of the whole project, and that it could be published.
 *
 * @module
 */

import denoJson from "../deno.json" with { type: "json" };
import { stdArguments } from "./host/jsr.ts";
import { project } from "./host/paths.ts";
import { main, say } from "./host/report.ts";

await main(async () => {
  const std = await stdArguments();
  const failed: string[] = [];
  for (
    const [name, ...args] of [
      ["fmt", "--check"],
      ["lint"],
      ["check", ...std, "."],
      ["doc", "--lint", ...Object.values(denoJson.exports)],
      ["publish", "--dry-run", "--allow-dirty"],
    ]
  ) {
    say(`\n== deno ${name}`);
    const command = new Deno.Command(Deno.execPath(), { args: [name!, ...args], cwd: project });
    if (!(await command.spawn().status).success) failed.push(`deno ${name}`);
  }
  say(failed.length === 0 ? "\nall checks pass" : `\nfailed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});
