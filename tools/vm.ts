/**
 * Runs a command in a guest that has a soft-RoCE device.
 *
 * @module
 */

import { main } from "./guest/report.ts";
import { runInGuest } from "./guest/run.ts";

await main(async () => {
  const command = Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args;
  return await runInGuest(command);
});
