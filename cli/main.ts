/**
 * The command-line tool of `@rdma/ibverbs`: it lists RDMA devices, shows what they can do, explains packets, watches ports
 * and measures.
 *
 * ```sh
 * deno run --allow-ffi jsr:@rdma/ibverbs/cli devinfo -v
 * ```
 *
 * `--help` lists the commands. Each command has `--help` and `--json`. The exit status is that of the C tool of the same
 * purpose: 0 if all went well.
 *
 * @module
 */

import { run } from "./run.ts";
import { systemTerminal } from "./terminal.ts";

if (import.meta.main) Deno.exit(await run(Deno.args, systemTerminal()));
