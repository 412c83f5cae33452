/** Runs commands in fresh guests. */

import { ensureStub } from "../stub/build.ts";
import { requireDeno, say } from "../host/report.ts";
import { attempt } from "../host/system_error.ts";
import { inTemporary, TemporaryFolder } from "../host/temporary.ts";
import { DENO_WITHIN, SYSTEM_FOLDERS } from "../host/userland.ts";
import { denoDir, guestEnvironment } from "./environment.ts";
import { initramfs, type Share } from "./initramfs.ts";
import { Interruption } from "./interruption.ts";
import { lostFiles, lostText } from "./lost.ts";
import { Guest, GuestError, type Output } from "./machine.ts";
import { ensureGuest, type Parts, type System } from "./parts.ts";
import { Progress } from "./progress.ts";
import {
  type Accelerator,
  accelerators,
  type Forward,
  FORWARDED_ADDRESS,
  lanAddress,
  parseAccelerator,
  processorsOfEach,
  qemuArguments,
} from "./qemu.ts";
import { Noted, Prefixed, type Sink, type Source } from "./streams.ts";

/**
 * Options of `runInGuest` and `runOnTwoHosts`.
 *
 * @category Options
 */
export interface GuestOptions extends Partial<Output>, System {
  /** Folder in which the command starts, the same as on this host; the current one by default. */
  cwd?: string | undefined;
  /** Added to the command's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Folders that the guest shares with this host: what the command writes there stays. They are made
   * if there are none. Everything else that it writes is lost.
   */
  share?: readonly string[] | undefined;
  /** Folders with files that can be made again. No message says that changes to them are lost. */
  scratch?: readonly string[];
  /**
   * What the command reads from its standard input, such as `Deno.stdin`; nothing by default. With
   * two hosts, the first one's command reads it.
   */
  stdin?: Source | undefined;
  /**
   * Gives the command a terminal of this size, in place of pipes: `Deno.consoleSize()`. What it writes to standard error
   * comes with its standard output. `stdin` has the keys; the command's terminal echoes them. It needs the program
   * `script` of the userland, as all releases of Debian have it, and is for one guest.
   */
  terminal?: Readonly<Record<"columns" | "rows", number>> | undefined;
  /** Adds stub0: an adapter without hardware that has work queues and RSS. */
  stub?: boolean | undefined;
  /** Ports of this host's loopback interface that lead to the guest; with two hosts, to the first. */
  forwards?: readonly Forward[] | undefined;
  /**
   * With two hosts: a pcap file to which every frame is written that the first host sends or
   * receives. `tshark` and Wireshark decode RDMA packets in it.
   */
  capture?: string | undefined;
  /** Seconds after which the guest is ended and the run fails; no limit by default. */
  timeout?: number | undefined;
  /**
   * Processors of each guest. The default is 2, or 1 where this host has not 2 for each. More
   * than this host has make emulated guests up to twice as slow.
   */
  processors?: number | undefined;
  /** Megabytes of each guest; 4096 by default. */
  memory?: number | undefined;
  /** What runs the instructions. The default is the variable IBVERBS_ACCEL, or else what this host has. */
  accelerator?: Accelerator | undefined;
  /** Shows the kernel's console on standard error. */
  verbose?: boolean | undefined;
  /** Receives the kernel's log after the command has ended. `host` is its number, from 1. */
  onKernelLog?: (log: string, host: number) => void;
}

/**
 * A command: a program and its arguments.
 *
 * @category Options
 */
export type Words = readonly string[];

// A guest that hangs is given up after this time: emulation takes long on a busy machine.
const START_SECONDS = { kvm: 20, tcg: 120 };

// What a shell reports for a program whose reader has gone, as in `rxe -- yes | head`, and for one
// that SIGKILL has ended.
const SIGPIPE_STATUS = 141;
const SIGKILL_STATUS = 137;

/** A command that is silent for longer, two minutes, may be a silent one. */
const MOST_OF_SILENCE = 24;

const NO_NETWORK =
  "guest: the command failed and has looked for other hosts, but the guest has no network; what Deno " +
  'imports has to be in its cache before: "deno cache FILE"';

/**
 * Runs a command in a guest that has a soft-RoCE device, rxe0, with this host's files as they are
 * and a writable copy of them in RAM. Standard output and error go to this process's own by default.
 *
 * @returns the command's exit status, 128 plus the signal's number when a signal ended it.
 * @throws {SetupError} when the guest cannot be set up, does not start, crashes or takes too long.
 * @category Guest
 */
export async function runInGuest(command: Words, options: GuestOptions = {}): Promise<number> {
  return (await runGuests([command], options))[0]!;
}

/**
 * Runs two commands at once, each in a guest of its own. The guests are the hosts host1 and host2 of
 * one Ethernet, with the addresses 10.0.0.1, 10.0.0.2, fd00::1 and fd00::2 at rxe0. IBVERBS_HOST is
 * 1 or 2 in the command's environment. Each line of output begins with the host's name.
 *
 * @returns the exit statuses; 137 for a host that ended by itself while the other one went on.
 * @throws {SetupError} when the guests cannot be set up or do not start.
 * @category Guest
 */
export async function runOnTwoHosts(
  commands: readonly [Words, Words],
  options: GuestOptions = {},
): Promise<number[]> {
  return await runGuests(commands, options);
}

async function runGuests(commands: readonly Words[], options: GuestOptions): Promise<number[]> {
  requireDeno();
  const chosen = options.accelerator ??
    parseAccelerator("IBVERBS_ACCEL", Deno.env.get("IBVERBS_ACCEL"));
  using progress = new Progress("looking for its parts");
  const parts = await ensureGuest(options);
  const stub = options.stub
    ? await ensureStub(options.kernel, (stage) => progress.enter(stage))
    : undefined;
  const candidates = chosen
    ? [chosen]
    : accelerators(Deno.readTextFileSync("/proc/cpuinfo"), kvmUsable());
  // An emulated kernel does not always start. The last resort is tried twice.
  const attempts = [...candidates, candidates.at(-1)!];
  for (let i = 0;; i++) {
    const accelerator = attempts[i]!;
    const run = new Run({ parts, stub, options, accelerator, progress });
    try {
      return await run.run(commands);
    } catch (error) {
      const next = attempts[i + 1];
      if (error instanceof Deno.errors.BrokenPipe) return commands.map(() => SIGPIPE_STATUS);
      if (run.ready || !next || !(error instanceof GuestError)) throw error;
      const again = next === accelerator ? "once more" : next;
      say(`guest: does not start with ${accelerator}, trying ${again}. ${error.message}`);
    }
  }
}

interface RunInit {
  readonly parts: Parts;
  /** The file of the stub HCA's module. */
  readonly stub: string | undefined;
  readonly options: GuestOptions;
  readonly accelerator: Accelerator;
  readonly progress: Progress;
}

/** One start of one or two guests. */
class Run {
  /** Whether the guests came as far as their commands. */
  ready = false;
  /** Shows progress while the command has printed nothing. */
  #silence: Progress | undefined;
  readonly #init: RunInit;
  readonly #cwd: string;
  readonly #shares: readonly Share[];

  constructor(init: RunInit) {
    this.#init = init;
    this.#cwd = init.options.cwd ?? Deno.cwd();
    this.#shares = (init.options.share ?? []).map((path, i) => ({ tag: `share${i}`, path }));
  }

  async run(commands: readonly Words[]): Promise<number[]> {
    using interruption = new Interruption();
    await this.#makeShares();
    await using folder = await TemporaryFolder.make("rxe-guest-");
    await using stack = new AsyncDisposableStack();
    const outputs = commands.map((_, i) => this.#noted(this.#outputOf(commands.length, i + 1)));
    const guests: Guest[] = [];
    for (const [i, command] of commands.entries()) {
      const guest = await this.#start(folder.path, command, i + 1, commands.length, outputs[i]!);
      guests.push(stack.use(guest));
    }
    const statuses = await Promise.race([
      interruption.status.then((status) => commands.map(() => status)),
      this.#follow(guests, commands),
    ]).finally(() => this.#silence?.[Symbol.dispose]());
    for (const output of outputs) await output.end?.();
    return statuses;
  }

  async #makeShares(): Promise<void> {
    for (const { path } of this.#shares) {
      await attempt(
        `share the folder ${path}`,
        "share one that this user can make or use",
        () => Deno.mkdir(path, { recursive: true }),
      );
    }
  }

  /** The progress of a silent command ends with its first output. */
  #noted<O extends Output>(output: O): O {
    const note = (sink: Sink): Sink => new Noted(sink, () => this.#silence?.[Symbol.dispose]());
    return { ...output, stdout: note(output.stdout), stderr: note(output.stderr) };
  }

  #outputOf(hosts: number, number: number): Output & { end?(): Promise<void> } {
    const { stdout = Deno.stdout, stderr = Deno.stderr } = this.#init.options;
    if (hosts === 1) return { stdout, stderr };
    const [out, err] = [stdout, stderr].map((sink) => new Prefixed(sink, `host${number}: `));
    const end = async (): Promise<void> => {
      await out!.end();
      await err!.end();
    };
    return { stdout: out!, stderr: err!, end };
  }

  async #start(
    folder: string,
    command: Words,
    number: number,
    hosts: number,
    output: Output,
  ): Promise<Guest> {
    const { parts, options, accelerator } = this.#init;
    const own = `${folder}/${number}`;
    const archive = await this.#initramfs(command, number, hosts);
    await inTemporary(async () => {
      await Deno.mkdir(own);
      await Deno.writeFile(`${own}/initramfs`, archive);
    });
    const args = qemuArguments({
      accelerator,
      number,
      processors: options.processors ?? processorsOfEach(hosts),
      memory: options.memory ?? 4096,
      kernel: parts.kernel,
      initramfs: `${own}/initramfs`,
      sockets: own,
      shares: this.#shares,
      lan: hosts === 1 ? undefined : {
        here: `${folder}/lan${number}`,
        there: `${folder}/lan${3 - number}`,
        capture: number === 1 ? options.capture : undefined,
      },
      forwards: number === 1 ? options.forwards ?? [] : [],
    });
    this.#init.progress.enter(`starting${accelerator === "tcg" ? " by emulation" : ""}`);
    return await Guest.start(args, own, output, options.verbose ?? false);
  }

  async #initramfs(
    command: Words,
    number: number,
    hosts: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { parts, stub, options } = this.#init;
    const together = hosts > 1;
    const forwarded = number === 1 && options.forwards?.[0] !== undefined;
    return await initramfs(parts.kernel, parts.busybox, {
      command,
      cwd: this.#cwd,
      env: {
        ...guestEnvironment(),
        ...parts.userland !== undefined && { DENO: DENO_WITHIN },
        ...together && { IBVERBS_HOST: String(number) },
        ...options.env,
      },
      shares: this.#shares,
      stub,
      settings: {
        STDIN: number === 1 && options.stdin ? "/in" : "/dev/null",
        TERMINAL: sizeOf(options, hosts),
        DENO_CACHE: denoDir(),
        HOST: String(number),
        HOST_NAME: together ? `host${number}` : "guest",
        LAN: together ? lanAddress(number) : "",
        FORWARDED: forwarded ? FORWARDED_ADDRESS : "",
        ...parts.userland !== undefined && {
          USERLAND: parts.userland,
          DENO_PROGRAM: Deno.execPath(),
          SYSTEM_FOLDERS: SYSTEM_FOLDERS.join(" "),
        },
      },
    });
  }

  async #follow(guests: readonly Guest[], commands: readonly Words[]): Promise<number[]> {
    await Promise.all(guests.map((guest) => this.#boot(guest)));
    this.ready = true;
    this.#init.progress.finish("the command starts");
    this.#silence = new Progress(silentStage(commands), MOST_OF_SILENCE);
    const [first, second] = guests;
    await Promise.all([first!.start(this.#init.options.stdin), second?.start()]);
    if (guests.length === 1) return [await this.#end(guests[0]!, 1)];
    return await Promise.all(guests.map((guest, i) => this.#endOfHost(guest, i + 1)));
  }

  async #boot(guest: Guest): Promise<void> {
    const seconds = START_SECONDS[this.#init.accelerator];
    for (;;) {
      const line = await guest.line(seconds, "start");
      if (line === "ready") return;
      if (!line.startsWith("stage ")) {
        throw new GuestError(`the guest ${line}${guest.consoleTail()}`);
      }
      this.#init.progress.enter(line.slice("stage ".length));
    }
  }

  /** A host may end in the middle: such runs test how the other one copes with it. */
  async #endOfHost(guest: Guest, number: number): Promise<number> {
    try {
      return await this.#end(guest, number);
    } catch (error) {
      if (!(error instanceof GuestError)) throw error;
      say(`host${number}: ${error.message}`);
      return SIGKILL_STATUS;
    }
  }

  async #end(guest: Guest, number: number): Promise<number> {
    const { timeout = Infinity, scratch = [], onKernelLog } = this.#init.options;
    const end = await guest.line(timeout, "command");
    const [status, outBytes, errBytes] = parseExit(end);
    await guest.drained(outBytes, errBytes);
    const lost: string[] = [];
    const log: string[] = [];
    for (;;) {
      const line = await guest.line(60, "log");
      if (line === "end") break;
      if (line === "no route") say(NO_NETWORK);
      else if (line.startsWith("lost ")) lost.push(line.slice("lost ".length));
      else log.push(line);
    }
    const text = lostText(lostFiles(lost, this.#cwd, scratch), this.#cwd);
    if (text !== undefined) say(text);
    onKernelLog?.(log.join("\n"), number);
    return status;
  }
}

/**
 * What a command that has printed nothing yet is doing. An emulated processor takes long for the modules of a program.
 */
function silentStage(commands: readonly Words[]): string {
  const isDeno = commands.some((words) => words.some((word) => /^(.*\/)?deno$/.test(word)));
  const what = isDeno ? "Deno starts and reads the modules of the program" : "the command runs";
  return `${what}, which has printed nothing yet`;
}

function parseExit(line: string): [number, number, number] {
  const numbers = line.match(/^exit (\d+) (\d+) (\d+)$/)?.slice(1).map(Number);
  if (!numbers) {
    throw new GuestError(`the guest said ${Deno.inspect(line)} instead of how its command ended`);
  }
  return numbers as [number, number, number];
}

function kvmUsable(): boolean {
  try {
    Deno.openSync("/dev/kvm", { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}

/** The size of the command's terminal, for stty; empty if it has none. */
function sizeOf({ terminal }: GuestOptions, hosts: number): string {
  return terminal === undefined || hosts > 1
    ? ""
    : `rows ${terminal.rows} columns ${terminal.columns}`;
}
