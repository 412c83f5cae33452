/** Runs one command in a fresh guest. */

import { ensureBusybox } from "./busybox.ts";
import { initramfs } from "./initramfs.ts";
import { ensureKernel, type Kernel } from "./kernel.ts";
import { Guest, GuestError } from "./machine.ts";
import { ensurePackages, type Need } from "./packages.ts";
import { out, project } from "./paths.ts";
import { type Accelerator, accelerators, qemuArguments } from "./qemu.ts";
import { say, SetupError } from "./report.ts";

/** How a command is run. */
export interface RunOptions {
  /** Folder in which the command starts; the project's by default. */
  cwd?: string;
  /** Added to the command's environment. */
  env?: Record<string, string>;
  /** Seconds after which the guest is ended and the run fails; no limit by default. */
  timeout?: number;
  /** Megabytes; 4096 by default. */
  memory?: number;
  /** Chosen by itself unless given. */
  accelerator?: Accelerator;
  /** Shows the kernel's console on standard error. */
  verbose?: boolean;
  /** Receives the kernel's log after the command has ended. */
  onKernelLog?: (log: string) => void;
}

// From start to the command; emulation on a busy machine takes some seconds, a guest that hangs takes forever.
const START_SECONDS = 90;

const NEEDS: Need[] = [
  { package: "xz-utils", file: "/usr/bin/xz", reason: "unpacks the guest's kernel" },
  { package: "qemu-system-x86", file: "/usr/bin/qemu-system-x86_64", reason: "runs the guest" },
  { package: "kmod", file: "/sbin/depmod", reason: "indexes and loads the guest's kernel modules" },
  {
    package: "iproute2",
    file: "/usr/bin/rdma",
    reason: "makes the guest's network and RDMA devices",
  },
  {
    package: "ibverbs-providers",
    file: "/etc/libibverbs.d/rxe.driver",
    reason: "libibverbs' drivers, rxe among them",
  },
];

/** What a guest is made of. */
export interface Parts {
  kernel: Kernel;
  /** The path of a static busybox. */
  busybox: string;
}

/** Fetches and installs what the guest needs; quick when all is there. */
export async function ensureGuest(): Promise<Parts> {
  await ensurePackages(NEEDS);
  return { kernel: await ensureKernel(), busybox: await ensureBusybox() };
}

/**
 * Runs a command in a guest that has a soft-RoCE device, with the host's files as they are and a writable copy of them in RAM.
 * Standard output and error go to this process's own.
 *
 * @returns the command's exit status, 128 plus the signal's number when a signal ended it.
 * @throws {SetupError} when the guest cannot be set up, does not start, crashes or runs out of time.
 */
export async function runInGuest(
  command: readonly string[],
  options: RunOptions = {},
): Promise<number> {
  const parts = await ensureGuest();
  const candidates = options.accelerator
    ? [options.accelerator]
    : accelerators(Deno.readTextFileSync("/proc/cpuinfo"), kvmUsable());
  for (const [i, accelerator] of candidates.entries()) {
    const last = i === candidates.length - 1;
    try {
      return await runOnce(parts, command, accelerator, options);
    } catch (error) {
      if (last || !(error instanceof StartError)) throw error;
      say(`guest: does not start with ${accelerator}, trying ${candidates[i + 1]}`);
    }
  }
  throw new Error("Cannot run the guest: no accelerator to try");
}

/** The guest ended or hung before its command began. */
class StartError extends SetupError {}

async function runOnce(
  { kernel, busybox }: Parts,
  command: readonly string[],
  accelerator: Accelerator,
  options: RunOptions,
): Promise<number> {
  await Deno.mkdir(out, { recursive: true });
  const folder = await Deno.makeTempDir({ prefix: "ibverbs-guest-" });
  try {
    const session = {
      command,
      cwd: options.cwd ?? project,
      env: { ...guestEnvironment(), ...options.env },
    };
    const image = `${folder}/initramfs`;
    await Deno.writeFile(image, await initramfs(kernel, busybox, session));
    const machine = {
      accelerator,
      memory: options.memory ?? 4096,
      kernel,
      initramfs: image,
      sockets: folder,
    };
    await using guest = await Guest.start(qemuArguments(machine), folder, options.verbose ?? false);
    await started(guest);
    return await finished(guest, options);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function started(guest: Guest): Promise<void> {
  try {
    const line = await guest.line(START_SECONDS, "start");
    if (line !== "ready") throw new GuestError(`the guest ${line}${guest.consoleTail()}`);
  } catch (error) {
    if (error instanceof GuestError) throw new StartError(error.message);
    throw error;
  }
}

async function finished(guest: Guest, options: RunOptions): Promise<number> {
  const end = await guest.line(options.timeout ?? Infinity, "command");
  const [status = NaN, outBytes = NaN, errBytes = NaN] = end.split(" ").slice(1).map(Number);
  await guest.drained(outBytes, errBytes);
  const log: string[] = [];
  for (let line = await guest.line(60, "log"); line !== "end"; line = await guest.line(60, "log")) {
    log.push(line);
  }
  options.onKernelLog?.(log.join("\n"));
  return status;
}

/** The host's own Deno and its cache of modules work in the guest, where there is no network. */
function guestEnvironment(): Record<string, string> {
  const passed = Object.entries(Deno.env.toObject()).filter(([name]) =>
    /^(IBVERBS_|NO_COLOR$|TERM$|LANG$)/.test(name)
  );
  return {
    ...Object.fromEntries(passed),
    DENO: Deno.execPath(),
    DENO_DIR: denoDir(),
    DENO_NO_UPDATE_CHECK: "1",
    HOME: "/run/home",
    IBVERBS_GUEST: "1",
    IBVERBS_OUT: out,
  };
}

function denoDir(): string {
  const { DENO_DIR, XDG_CACHE_HOME, HOME } = Deno.env.toObject();
  return DENO_DIR ?? (XDG_CACHE_HOME ? `${XDG_CACHE_HOME}/deno` : `${HOME ?? "/root"}/.cache/deno`);
}

function kvmUsable(): boolean {
  try {
    Deno.openSync("/dev/kvm", { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}
