/** How the virtual machine is started. */

import { out } from "../host/paths.ts";
import { SetupError } from "../host/report.ts";
import type { Kernel } from "./kernel.ts";

/** What runs the guest's instructions: the processor itself, or QEMU's emulation of one. */
export type Accelerator = "kvm" | "tcg";

/** The guest's streams, each a UNIX socket that QEMU connects to. */
export const STREAMS = ["console", "ctl", "out", "err"] as const;

/** What differs between one machine and the next. */
export interface Machine {
  accelerator: Accelerator;
  /** Megabytes. */
  memory: number;
  kernel: Kernel;
  initramfs: string;
  /** The folder with a socket for each of {@linkcode STREAMS}. */
  sockets: string;
}

/**
 * Accelerators to try, best first. A processor without virtualization of its own may still offer
 * /dev/kvm when the host is itself a guest, and then fails in ways that look like a hang.
 */
export function accelerators(cpuinfo: string, kvmUsable: boolean): Accelerator[] {
  return kvmUsable && /^flags\s*:.* (vmx|svm)( |$)/m.test(cpuinfo) ? ["kvm", "tcg"] : ["tcg"];
}

/** Reads a user's choice; `where` it stands is for the message. */
export function parseAccelerator(where: string, text: string | undefined): Accelerator | undefined {
  if (text === undefined || text === "kvm" || text === "tcg") return text;
  throw new SetupError(`${where} takes kvm or tcg, not "${text}"`);
}

// Where addresses are not random, QEMU finds the code that it has translated for one process when
// the next one runs it: a Deno process starts in a quarter of the time.
const COMMAND_LINE = "console=ttyS0 loglevel=5 panic=-1 log_buf_len=4M mitigations=off norandmaps";

/** QEMU's arguments. */
export function qemuArguments(machine: Machine): string[] {
  const { accelerator, kernel, sockets } = machine;
  const socket = (name: string): string => `socket,id=${name},path=${sockets}/${name}`;
  const port = (
    name: string,
  ): string[] => [
    "-chardev",
    socket(name),
    "-device",
    `virtserialport,chardev=${name},name=${name}`,
  ];
  const share = (tag: string, path: string, options: string): string[] => [
    "-virtfs",
    `local,path=${
      path.replaceAll(",", ",,")
    },mount_tag=${tag},security_model=none,multidevs=remap${options}`,
  ];
  return [
    ...["-machine", "q35", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"],
    // With "max", emulated protection keys and AVX state make every system call of a V8 process 2
    // to 4 times slower.
    ...(accelerator === "kvm"
      ? ["-accel", "kvm", "-cpu", "host"]
      : ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]),
    ...["-smp", "2", "-m", String(machine.memory)],
    ...["-kernel", kernel.image, "-initrd", machine.initramfs],
    ...["-append", COMMAND_LINE],
    ...["-chardev", socket("console"), "-serial", "chardev:console"],
    ...["-device", "virtio-serial", ...port("ctl"), ...port("out"), ...port("err")],
    ...share("host", "/", ",readonly=on"),
    ...share("out", out, ""),
  ];
}
