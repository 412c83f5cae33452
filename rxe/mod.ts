/**
 * A virtual machine with a soft-RoCE device, for projects that use `@rdma/ibverbs` on hosts without RDMA hardware.
 *
 * ```sh
 * deno run -A jsr:@rdma/ibverbs/rxe -- deno test -A
 * ```
 *
 * The machine has the files of this host, and the command starts in the current folder. What it writes is lost, except in
 * folders that are shared; `--help` lists the options. Everything that is downloaded comes from Debian's packages and is
 * kept in the user's cache folder, or in that of `IBVERBS_CACHE`. The host needs Debian or Ubuntu on x86_64; it does not
 * need KVM.
 *
 * Programs can do the same:
 *
 * ```ts
 * import { runInGuest } from "@rdma/ibverbs/rxe";
 *
 * const status = await runInGuest(["ibv_devinfo", "-v"], { timeout: 60 });
 * ```
 *
 * @module
 */

import { runCommandLine } from "./command_line.ts";
import { denoCommand } from "./host/deno_command.ts";
import { main } from "./host/report.ts";

export { type GuestOptions, runInGuest, runOnTwoHosts, type Words } from "./guest/run.ts";
export { GuestError, type Output } from "./guest/machine.ts";
export type { Accelerator, Forward } from "./guest/qemu.ts";
export type { Sink } from "./guest/streams.ts";
export { SetupError } from "./host/report.ts";

if (import.meta.main) {
  main(() =>
    runCommandLine(Deno.args, { command: `${denoCommand()} run -A jsr:@rdma/ibverbs/rxe --` })
  );
}
