/**
 * Runs a command in a guest that has a soft-RoCE device.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { parseAccelerator } from "./guest/qemu.ts";
import { runInGuest } from "./guest/run.ts";
import { out } from "./host/paths.ts";
import { main, SetupError } from "./host/report.ts";
import { withStub } from "./tests/stub.ts";

const HELP = `Runs a command in a virtual machine that has a soft-RoCE device, rxe0.

  deno task vm -- [OPTIONS] COMMAND [ARGUMENTS...]

The command starts in the project's folder and sees the host's files; what it writes stays in
memory, except below ${out} (IBVERBS_OUT in its environment), which is shared.
Variables that begin with IBVERBS_ are passed on. The exit status is the command's.

  --stub             with stub0 as well: an adapter without hardware that has work queues and RSS
  --timeout SECONDS  end the machine after that time
  --memory MEGABYTES memory of the machine, 4096
  --accel kvm|tcg    run on the processor's own virtualization, or emulate; chosen by itself
                     unless given here or in IBVERBS_ACCEL
  --verbose          show the kernel's messages
  --help             show this text
`;

await main(async () => {
  // deno task passes the separator on
  const args = Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args;
  const flags = parseArgs(args, {
    boolean: ["help", "stub", "verbose"],
    string: ["_", "accel", "memory", "timeout"],
    stopEarly: true,
    unknown: refuse,
  });
  const command = flags._.map(String);
  if (flags.help || command.length === 0) {
    console.log(HELP);
    return flags.help ? 0 : 2;
  }
  const accelerator = parseAccelerator("--accel", flags.accel);
  return await runInGuest(flags.stub ? await withStub(command) : command, {
    verbose: flags.verbose,
    ...(flags.timeout !== undefined && { timeout: positive("timeout", flags.timeout) }),
    ...(flags.memory !== undefined && { memory: positive("memory", flags.memory) }),
    ...(accelerator && { accelerator }),
  });
});

function refuse(argument: string): void {
  if (argument.startsWith("-")) throw new SetupError(`unknown option ${argument}; see --help`);
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new SetupError(`--${option} takes a positive whole number, not "${text}"`);
}
