/**
 * The command-line tool of `@rdma/ibverbs`: it lists RDMA devices, shows what they can do, explains packets, watches ports,
 * plays ping-pong with the tools of rdma-core, and measures.
 *
 * ```sh
 * deno run --allow-ffi jsr:@rdma/ibverbs/cli devinfo -v
 * ```
 *
 * `--help` lists the commands. Each command has `--help` and `--json`. The exit status is that of the C tool of the same
 * purpose: 0 if all went well.
 *
 * Programs can run a command too:
 *
 * ```ts
 * import { runCli } from "@rdma/ibverbs/cli";
 *
 * Deno.exitCode = await runCli(["gids", "--json"]);
 * ```
 *
 * @module
 */

import { run } from "./run.ts";
import { systemTerminal } from "./terminal.ts";

/**
 * Runs a command line. What it prints goes to standard output and standard error, errors too.
 *
 * @returns the exit status.
 */
export async function runCli(args: readonly string[]): Promise<number> {
  return await run(args, systemTerminal());
}

if (import.meta.main) Deno.exit(await runCli(Deno.args));
