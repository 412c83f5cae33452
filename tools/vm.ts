/**
 * Runs a command in a guest that has a soft-RoCE device.
 *
 * @module
 */

import { runInGuest } from "./guest/run.ts";
import { oneOf, positive, readOptionsOfCommand } from "./host/options.ts";
import { out } from "./host/paths.ts";
import { main } from "./host/report.ts";
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
  const { options, command } = readOptionsOfCommand(Deno.args, {
    accel: oneOf("kvm", "tcg"),
    help: "flag",
    memory: positive,
    stub: "flag",
    timeout: positive,
    verbose: "flag",
  });
  if (options.help || command.length === 0) {
    console.log(HELP);
    return options.help ? 0 : 2;
  }
  const { accel, memory, timeout, verbose = false } = options;
  const settings = { accelerator: accel, memory, timeout, verbose };
  return await runInGuest(options.stub ? await withStub(command) : command, settings);
});
