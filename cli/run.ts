import { quote } from "./shell/text.ts";
import { didYouMean } from "./shell/suggest.ts";
import {
  type Command,
  CommandError,
  ForbiddenError,
  messageOf,
  summaries,
  UsageError,
} from "./shell/command.ts";
import { devices } from "./devices.ts";
import { devinfo } from "./devinfo.ts";
import { doctor } from "./doctor.ts";
import { explain } from "./explain.ts";
import { gids } from "./gids.ts";
import { perf } from "./perf.ts";
import { pingpong } from "./pingpong.ts";
import { rping } from "./rping.ts";
import { systemTerminal, type Terminal } from "./shell/terminal.ts";
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

const RUN = "deno run -A jsr:@rdma/cli";
const INSTALL = "deno install --global -A --name ibverbs jsr:@rdma/cli";

/** An installed command has the permissions with which it was installed, so Deno's advice to run it again does not help. */
const ALL_PERMISSIONS =
  `All permissions are given by "${RUN} ...", or to an installed command by "${
    INSTALL.replace("--global", "--global --force")
  }"`;

/** What a shell reports for a program that a closed pipe has ended: 128 and the number of SIGPIPE. */
const BROKEN_PIPE = 141;

/** Runs a command line on the terminal of the process. */
export async function runHere(args: readonly string[]): Promise<number> {
  return await run(args, systemTerminal());
}

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
    terminal.printError(withHelp(`${quote(name)} is not ${whatIs(name)}`));
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
    const message = messageOf(error);
    const text = error instanceof UsageError ? withHelp(message, `${name} --help`) : message;
    const remedy = isForbidden(error) ? `. ${ALL_PERMISSIONS}` : "";
    terminal.printError(`${name}: ${text}${remedy}`);
    return error instanceof CommandError ? error.status : 1;
  }
}

/** What a word in the place of a command is, and a similar command. */
function whatIs(name: string): string {
  if (name.startsWith("-")) return `an option${didYouMean(name, ["--help", "--version"])}`;
  return `a command${didYouMean(name, COMMANDS.map(({ name }) => name))}`;
}

function withHelp(message: string, help = "--help"): string {
  return message.endsWith("?") ? `${message} See ${help}` : `${message}; see ${help}`;
}

/** Whether Deno has refused access, or a command that needs more permissions than it has. */
function isForbidden(error: unknown): boolean {
  return error instanceof Deno.errors.NotCapable || error instanceof ForbiddenError;
}

function printOverview(terminal: Terminal): number {
  terminal.print([
    "Shows the RDMA devices of this host and tries them out.",
    "",
    `  ${RUN} COMMAND [OPTIONS]`,
    "",
    `or, after "${INSTALL}":`,
    "",
    "  ibverbs COMMAND [OPTIONS]",
    "",
    ...summaries(COMMANDS),
    "",
    "-A is all permissions of Deno. doctor and watch need them, to read /sys. --allow-ffi is enough for",
    "the others; pingpong and perf need --allow-net too, and explain --allow-read for a capture.",
    "",
    "COMMAND --help or help COMMAND shows the options of a command, --version that of the package.",
  ]);
  return 0;
}
