/** How the virtual machine is started. */

import { SetupError } from "../host/report.ts";
import type { Share } from "./initramfs.ts";
import type { Kernel } from "./kernel.ts";

/**
 * What runs the instructions of the guest: `kvm` is the processor itself, `tcg` an emulation by QEMU.
 *
 * @category Options
 */
export type Accelerator = "kvm" | "tcg";

/** The guest's streams, each a UNIX socket that QEMU connects to. */
export const STREAMS = ["console", "ctl", "out", "err", "in"] as const;

/** What differs between machines. */
export interface Machine {
  accelerator: Accelerator;
  /** Its number among the hosts, from 1. */
  number: number;
  processors: number;
  /** Megabytes. */
  memory: number;
  kernel: Kernel;
  initramfs: string;
  /** The folder with a socket for each of `STREAMS`. */
  sockets: string;
  shares: readonly Share[];
  /** Its place in a network of two hosts; undefined without a network. */
  lan: Lan | undefined;
  /** Ports of this host that lead to the guest. */
  forwards: readonly Forward[];
}

/**
 * A port of this host's loopback interface that leads to a port of the guest.
 *
 * @category Options
 */
export interface Forward {
  /** TCP by default. */
  protocol?: "tcp" | "udp";
  /** The port of this host. */
  host: number;
  /** The port of the guest. */
  guest: number;
}

/** The ends of a cable, each a datagram socket. */
export interface Lan {
  /** Path of the socket of this guest. */
  here: string;
  /** Path of the socket of the other guest. */
  there: string;
  /** A pcap file that QEMU writes each frame to that passes this end; undefined to write none. */
  capture?: string | undefined;
}

/** The Ethernet address of the interface that host `number` has in the network of two hosts. */
export function lanAddress(number: number): string {
  return `52:54:00:00:01:0${number}`;
}

/** The Ethernet address of the interface to which ports of this host lead. */
export const FORWARDED_ADDRESS = "52:54:00:00:02:01";

/**
 * Accelerators to try, best first. A processor without virtualization of its own may still offer
 * /dev/kvm when the host is itself a guest, and then fails in ways that look like a hang.
 */
export function accelerators(cpuinfo: string, kvmUsable: boolean): Accelerator[] {
  return kvmUsable && /^flags\s*:.* (vmx|svm)( |$)/m.test(cpuinfo) ? ["kvm", "tcg"] : ["tcg"];
}

/** Reads a user's choice; `where` names its place in the message. */
export function parseAccelerator(where: string, text: string | undefined): Accelerator | undefined {
  if (text === undefined || text === "kvm" || text === "tcg") return text;
  throw new SetupError(`${where} takes kvm or tcg, not "${text}"`);
}

// Where addresses are not random, QEMU finds the code that it has translated for one process when
// the next one runs it: a Deno process starts in a quarter of the time.
const COMMAND_LINE =
  "console=ttyS0 loglevel=5 panic=-1 log_buf_len=4M mitigations=off norandmaps " +
  // An emulator on a busy host delays ticks, and the kernel's test of its timer then ends in a panic.
  "no_timer_check";

/**
 * How many processors each of several guests has that run at once. An emulated one keeps a processor of this host busy
 * while it waits for a lock that another one holds.
 */
export function processorsOfEach(
  guests: number,
  processors: number = navigator.hardwareConcurrency,
): number {
  return Math.max(1, Math.min(2, Math.floor(processors / guests)));
}

/** QEMU's arguments. */
export function qemuArguments(machine: Machine): string[] {
  const { accelerator, kernel, sockets, shares, lan, forwards } = machine;
  const socket = (name: string): string => `socket,id=${name},path=${escaped(sockets)}/${name}`;
  const port = (name: string): string[] =>
    ["-chardev", socket(name), "-device"].concat(`virtserialport,chardev=${name},name=${name}`);
  const share = (tag: string, path: string, options = ""): string[] => [
    "-virtfs",
    `local,path=${escaped(path)},mount_tag=${tag},security_model=none,multidevs=remap${options}`,
  ];
  return [
    ...["-machine", "q35", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"],
    // With "max", emulated protection keys and AVX state make every system call of a V8 process 2
    // to 4 times slower.
    ...(accelerator === "kvm"
      ? ["-accel", "kvm", "-cpu", "host"]
      : ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]),
    ...["-smp", String(machine.processors), "-m", String(machine.memory)],
    ...["-kernel", `${kernel.folder}/boot/kernel`, "-initrd", machine.initramfs],
    ...["-append", COMMAND_LINE],
    ...["-chardev", socket("console"), "-serial", "chardev:console"],
    ...["-device", "virtio-serial", ...["ctl", "out", "err", "in"].flatMap(port)],
    ...share("host", "/", ",readonly=on"),
    ...shares.flatMap(({ tag, path }) => share(tag, path)),
    ...lan === undefined ? [] : network(
      `dgram,local.type=unix,local.path=${escaped(lan.here)},` +
        `remote.type=unix,remote.path=${escaped(lan.there)}`,
      "lan",
      lanAddress(machine.number),
    ),
    ...lan?.capture === undefined
      ? []
      : ["-object", `filter-dump,id=capture,netdev=lan,file=${escaped(lan.capture)}`],
    ...forwards.length === 0 ? [] : network(
      ["user", "restrict=on", ...forwards.map(forwardOption)].join(","),
      "nat",
      FORWARDED_ADDRESS,
    ),
  ];
}

/** A value of one of QEMU's options, in which a comma would begin the next one. */
function escaped(value: string): string {
  return value.replaceAll(",", ",,");
}

function network(backend: string, id: string, address: string): string[] {
  // Without a boot image, which the guest does not need.
  const device = `virtio-net-pci,netdev=${id},mac=${address},romfile=`;
  return ["-netdev", `${backend},id=${id}`, "-device", device];
}

function forwardOption({ protocol = "tcp", host, guest }: Forward): string {
  return `hostfwd=${protocol}:127.0.0.1:${host}-:${guest}`;
}
