/**
 * A virtual machine with a soft-RoCE device (RDMA over Ethernet, in software). It lets a project that uses `@rdma/ibverbs`
 * run on a host without RDMA hardware.
 *
 * ```sh
 * deno run -A jsr:@rdma/rxe -- deno test -A
 * ```
 *
 * It starts the machine, runs `deno test -A` in it, and ends it. The output and the exit status are those of the command.
 * The device of the machine is `rxe0`. `--stub` adds `stub0`, which has work queues and receive side scaling but carries no
 * packets. `--hosts 2` starts two machines on one network. `--kernel 7.3` and `--userland sid` give the machine another
 * kernel, and programs and libraries of another release of Debian.
 *
 * The machine has the files of this host, and the command starts in the current folder. What it writes is lost, except
 * in folders that are shared; `--help` lists the options. All downloads are packages of Debian, and are kept in the
 * user's cache folder, or in that of `IBVERBS_CACHE`. The host needs Debian or Ubuntu on x86_64; it does not need KVM.
 *
 * **Where to go next.** Programs can do the same with `runInGuest`, or with `runOnTwoHosts` for two machines:
 *
 * ```ts
 * import { runInGuest } from "@rdma/rxe";
 *
 * const status = await runInGuest(["ibv_devinfo", "-v"], { timeout: 60 });
 * ```
 *
 * The result is the exit status of the command. If the machine cannot be set up, the call rejects with a
 * `SetupError`; if it fails later, with a `GuestError`, a subclass. `GuestOptions` says how
 * to share a folder, set variables and forward a port.
 *
 * @module
 */

import { runCommandLine } from "./command_line.ts";
import { givenArguments } from "./host/arguments.ts";
import { denoCommand } from "./host/deno_command.ts";
import { main } from "./host/report.ts";

export { type GuestOptions, runInGuest, runOnTwoHosts, type Words } from "./guest/run.ts";
export type { System } from "./guest/parts.ts";
export { GuestError, type Output } from "./guest/machine.ts";
export type { Accelerator, Forward } from "./guest/qemu.ts";
export type { Sink, Source } from "./guest/streams.ts";
export { SetupError } from "./host/report.ts";
export type { KernelName, UserlandName } from "./host/systems.ts";

/** Node before 24 does not say to a module whether it is the program. */
function isProgram({ main, filename }: ImportMeta): boolean {
  return main ?? globalThis.process.argv[1] === filename;
}

if (isProgram(import.meta)) {
  main(() =>
    runCommandLine(givenArguments(), { command: `${denoCommand()} run -A jsr:@rdma/rxe --` })
  );
}
