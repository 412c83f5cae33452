/** The command line that runs a command in a guest. */

import { resolve } from "node:path";
import { type GuestOptions, runInGuest, runOnTwoHosts, type Words } from "./guest/run.ts";
import type { Forward } from "./guest/qemu.ts";
import {
  many,
  oneOf,
  positive,
  readOptionsOfCommand,
  text,
  usageError,
  type Value,
} from "./options.ts";
import { SetupError } from "./host/report.ts";
import { isAtTerminal, Typed } from "./terminal.ts";
import { type KernelName, KERNELS, type UserlandName, USERLANDS } from "./host/systems.ts";

/** The tool that offers the command line. */
export interface Offer {
  /** The command that runs it, for the help. */
  readonly command: string;
  /** More about it, for the help: whole lines. */
  readonly details?: string;
  /** Completes the options of the user. */
  readonly complete?: (options: GuestOptions) => Promise<GuestOptions>;
}

// Between the commands of two hosts.
const NEXT = ":::";

const PORT = "[1-9]\\d{0,4}";
const FORWARD = new RegExp(`^(${PORT}):(${PORT})(?:/(tcp|udp))?$`);

const forward: Value<Forward> = {
  takes: "HOSTPORT:GUESTPORT, or with /udp behind them",
  read: (text) => {
    const found = FORWARD.exec(text);
    if (found === null) return undefined;
    const [host, guest] = [Number(found[1]), Number(found[2])];
    if (Math.max(host, guest) > 65535) return undefined;
    return { protocol: found[3] === "udp" ? "udp" : "tcp", host, guest };
  },
};

const variable: Value<readonly [name: string, value: string]> = {
  takes: "NAME=VALUE, or the NAME of a variable that is set",
  read: (text) => {
    const found = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text);
    if (found === null) return undefined;
    const value = found[2] ?? Deno.env.get(found[1]!);
    return value === undefined ? undefined : [found[1]!, value];
  },
};

/** The options that choose the guest's system. */
export const SYSTEM_OPTIONS = {
  kernel: oneOf(...Object.keys(KERNELS) as KernelName[]),
  userland: oneOf(...Object.keys(USERLANDS) as UserlandName[]),
} as const;

const OPTIONS = {
  ...SYSTEM_OPTIONS,
  accel: oneOf("kvm", "tcg"),
  capture: text,
  env: many(variable),
  forward: many(forward),
  help: "flag",
  hosts: oneOf("1", "2"),
  memory: positive,
  processors: positive,
  share: many(text),
  stub: "flag",
  timeout: positive,
  verbose: "flag",
} as const;

/**
 * Runs a command line. The result is the exit status.
 *
 * @throws {SetupError} If it is wrong, before anything is set up, or the guest cannot be run.
 */
export async function runCommandLine(args: readonly string[], offer: Offer): Promise<number> {
  const { options, command } = readOptionsOfCommand(args, OPTIONS);
  if (options.help) {
    console.log(helpOf(offer));
    return 0;
  }
  const { capture, env, hosts } = options;
  if (capture !== undefined && hosts !== "2") {
    throw new SetupError("--capture takes the packets between two hosts: add --hosts 2");
  }
  const commands = commandsOf(command, hosts === "2");
  const settings: GuestOptions = {
    accelerator: options.accel,
    capture: capture && resolve(capture),
    env: env && Object.fromEntries(env),
    forwards: options.forward,
    kernel: options.kernel,
    memory: options.memory,
    processors: options.processors,
    share: options.share?.map((path) => resolve(path)),
    stub: options.stub,
    timeout: options.timeout,
    userland: options.userland,
    verbose: options.verbose,
  };
  const complete = await offer.complete?.(settings) ?? settings;
  const [first, second] = commands;
  if (second === undefined && isAtTerminal()) {
    using stdin = new Typed();
    return await runInGuest(first, { ...complete, stdin, terminal: Deno.consoleSize() });
  }
  const all = { ...complete, stdin: standardInput() };
  if (second === undefined) return await runInGuest(first, all);
  const statuses = await runOnTwoHosts([first, second], all);
  return statuses.find((status) => status !== 0) ?? 0;
}

/** The standard input of this process; undefined if that is /dev/null. */
function standardInput(): typeof Deno.stdin | undefined {
  const isNull = Deno.statSync("/dev/stdin").isCharDevice && !Deno.stdin.isTerminal();
  return isNull ? undefined : Deno.stdin;
}

function commandsOf(words: Words, two: boolean): [Words, Words?] {
  const at = words.indexOf(NEXT);
  const both: [Words, Words] = at < 0 ? [words, words] : [words.slice(0, at), words.slice(at + 1)];
  const commands: [Words, Words?] = two ? both : [words];
  if (commands.some((command) => command!.length === 0)) {
    throw usageError("the command is missing");
  }
  return commands;
}

function helpOf({ command, details = "" }: Offer): string {
  return `Runs a command in a virtual machine that has a soft-RoCE device, rxe0.

  ${command} [OPTIONS] COMMAND [ARGUMENTS...]

The command starts in the current folder and sees this host's files. What it writes stays in the
machine's memory and is lost, except in shared folders; at the end it is said which files are lost.
It reads the standard input of this process; with two machines, the first one does. On a terminal it
has a terminal too, unless there are two machines.
The machine has no network: what Deno needs has to be in its cache. It leaves out the type check
unless COMMAND has --check. Variables that begin with IBVERBS_ are passed on.
The exit status is the command's.
${details}
  --share FOLDER     what the command writes in this folder stays; may be given several times
  --stub             with stub0 as well: an adapter without hardware that has work queues and RSS
  --hosts 2          two machines on one network, 10.0.0.1 and 10.0.0.2; each runs the command and
                     has IBVERBS_HOST=1 or 2. COMMAND1 ${NEXT} COMMAND2 gives each its own
  --capture FILE     with two hosts: write their packets to a pcap file, for tshark or Wireshark
  --env NAME[=VALUE] set a variable for the command; may be given several times
  --forward HOSTPORT:GUESTPORT[/udp]
                     a port of 127.0.0.1 leads to the machine; may be given several times
  --kernel ${Object.keys(KERNELS).join("|")}
                     another kernel of Debian than that of this host's packages
  --userland ${Object.keys(USERLANDS).join("|")}
                     programs and libraries of that release of Debian; /usr, /etc and /var of this
                     host are hidden
  --timeout SECONDS  end the machine after that time
  --memory MEGABYTES memory of the machine, 4096
  --processors COUNT processors of each machine: 2, or 1 where this host has not 2 for each
  --accel kvm|tcg    run on the processor's own virtualization, or emulate; chosen by itself
                     unless given here or in IBVERBS_ACCEL
  --verbose          show the kernel's messages
  --help             show this text
`;
}
