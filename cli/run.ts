import { quote } from "./shell/text.ts";
import { type Command, CommandError, messageOf, summaries, UsageError } from "./shell/command.ts";
import { devices } from "./devices.ts";
import { devinfo } from "./devinfo.ts";
import { doctor } from "./doctor.ts";
import { explain } from "./explain.ts";
import { gids } from "./gids.ts";
import { perf } from "./perf.ts";
import { pingpong } from "./pingpong.ts";
import { rping } from "./rping.ts";
import type { Terminal } from "./shell/terminal.ts";
import { udaddy } from "./udaddy.ts";
import { VERSION } from "./version.ts";
import { watch } from "./watch.ts";

const COMMANDS: readonly Command[] = [
  devices,
  devinfo,
  gids,
  explain,
  doctor,
  watch,
  pingpong,
  rping,
  udaddy,
  perf,
];

/** What a shell reports for a program that a closed pipe has ended: 128 and the number of SIGPIPE. */
const BROKEN_PIPE = 141;

/** Runs a command line. The result is the status of the process; errors are printed. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === undefined || name === "--help" || name === "-h") return printOverview(terminal);
    if (name === "help") return await run(rest.length === 0 ? [] : [rest[0]!, "--help"], terminal);
    const command = COMMANDS.find((command) => command.name === name);
    if (name === "--version" || (command !== undefined && rest[0] === "--version")) {
      terminal.print([`@rdma/cli ${VERSION}`]);
      return 0;
    }
    if (command !== undefined) return await runCommand(command, rest, terminal);
    const what = name.startsWith("-") ? "an option" : "a command";
    terminal.printError(`${quote(name)} is not ${what}; see --help`);
    return 1;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return BROKEN_PIPE;
    throw error;
  }
}

async function runCommand(
  { name, run }: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) throw error;
    const help = error instanceof UsageError ? `; see ${name} --help` : "";
    terminal.printError(`${name}: ${messageOf(error)}${help}`);
    return error instanceof CommandError ? error.status : 1;
  }
}

function printOverview(terminal: Terminal): number {
  terminal.print([
    "Shows the RDMA devices of this host and tries them out.",
    "",
    "  deno run --allow-ffi jsr:@rdma/cli COMMAND [OPTIONS]",
    "",
    ...summaries(COMMANDS),
    "",
    "COMMAND --help or help COMMAND shows the options of a command, --version that of the package.",
  ]);
  return 0;
}
