/** Runs one command in a fresh guest. */

import { out, project } from "../host/paths.ts";
import { say } from "../host/report.ts";
import { guestEnvironment } from "./environment.ts";
import { initramfs } from "./initramfs.ts";
import { Interruption } from "./interruption.ts";
import { Guest, GuestError, type Output } from "./machine.ts";
import { ensureGuest, type Parts } from "./parts.ts";
import { type Accelerator, accelerators, parseAccelerator, qemuArguments } from "./qemu.ts";

/** How a command is run. */
export interface RunOptions extends Partial<Output> {
  /** Folder in which the command starts; the project's by default. */
  cwd?: string;
  /** Added to the command's environment. */
  env?: Record<string, string>;
  /** Seconds after which the guest is ended and the run fails; no limit by default. */
  timeout?: number | undefined;
  /** Megabytes; 4096 by default. */
  memory?: number | undefined;
  /** Chosen by itself unless given here or in IBVERBS_ACCEL. */
  accelerator?: Accelerator | undefined;
  /** Shows the kernel's console on standard error. */
  verbose?: boolean;
  /** Receives the kernel's log after the command has ended. */
  onKernelLog?: (log: string) => void;
}

// A guest that hangs is given up after this: emulation takes some seconds, and many on a busy
// machine.
const START_SECONDS = { kvm: 20, tcg: 120 };

// What a shell reports for a program whose reader has gone, as in `deno task vm -- yes | head`.
const SIGPIPE_STATUS = 141;

/**
 * Runs a command in a guest that has a soft-RoCE device, with the host's files as they are and a
 * writable copy of them in RAM. Standard output and error go to this process's own by default.
 *
 * @returns the command's exit status, 128 plus the signal's number when a signal ended it.
 * @throws {SetupError} when the guest cannot be set up, does not start, crashes or takes too long.
 */
export async function runInGuest(
  command: readonly string[],
  options: RunOptions = {},
): Promise<number> {
  const parts = await ensureGuest();
  const chosen = options.accelerator ??
    parseAccelerator("IBVERBS_ACCEL", Deno.env.get("IBVERBS_ACCEL"));
  const candidates = chosen
    ? [chosen]
    : accelerators(Deno.readTextFileSync("/proc/cpuinfo"), kvmUsable());
  for (const [i, accelerator] of candidates.entries()) {
    const run = new Run(parts, options, accelerator);
    try {
      return await run.run(command);
    } catch (error) {
      const next = candidates[i + 1];
      if (error instanceof Deno.errors.BrokenPipe) return SIGPIPE_STATUS;
      if (run.ready || !next || !(error instanceof GuestError)) throw error;
      say(`guest: does not start with ${accelerator}, trying ${next}`);
    }
  }
  throw new Error("Cannot run the guest: there is no accelerator to try");
}

/** One start of a guest. */
class Run {
  /** Whether the guest came as far as its command. */
  ready = false;
  readonly #parts: Parts;
  readonly #options: RunOptions;
  readonly #accelerator: Accelerator;

  constructor(parts: Parts, options: RunOptions, accelerator: Accelerator) {
    this.#parts = parts;
    this.#options = options;
    this.#accelerator = accelerator;
  }

  async run(command: readonly string[]): Promise<number> {
    using interruption = new Interruption();
    await Deno.mkdir(out, { recursive: true });
    const folder = await Deno.makeTempDir({ prefix: "ibverbs-guest-" });
    try {
      await this.#writeInitramfs(`${folder}/initramfs`, command);
      const args = qemuArguments({
        accelerator: this.#accelerator,
        memory: this.#options.memory ?? 4096,
        kernel: this.#parts.kernel,
        initramfs: `${folder}/initramfs`,
        sockets: folder,
      });
      const { stdout = Deno.stdout, stderr = Deno.stderr, verbose = false } = this.#options;
      await using guest = await Guest.start(args, folder, { stdout, stderr }, verbose);
      return await Promise.race([interruption.status, this.#follow(guest)]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  async #writeInitramfs(path: string, command: readonly string[]): Promise<void> {
    const { cwd = project, env } = this.#options;
    const session = { command, cwd, env: { ...await guestEnvironment(), ...env } };
    await Deno.writeFile(path, await initramfs(this.#parts.kernel, this.#parts.busybox, session));
  }

  async #follow(guest: Guest): Promise<number> {
    const begin = await guest.line(START_SECONDS[this.#accelerator], "start");
    if (begin !== "ready") throw new GuestError(`the guest ${begin}${guest.consoleTail()}`);
    this.ready = true;
    const end = await guest.line(this.#options.timeout ?? Infinity, "command");
    const [status, outBytes, errBytes] = parseExit(end);
    await guest.drained(outBytes, errBytes);
    const log: string[] = [];
    for (
      let line = await guest.line(60, "log");
      line !== "end";
      line = await guest.line(60, "log")
    ) {
      log.push(line);
    }
    this.#options.onKernelLog?.(log.join("\n"));
    return status;
  }
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
