/** How to install a library on the distribution at hand. */

import { libc } from "../libc.ts";
import { cString } from "../pointers.ts";

/** The libraries that the binding opens. */
export type LibraryName = "libibverbs" | "librdmacm" | "libefa";

interface Distribution {
  /** The names that distributions give themselves, and those of the distributions that they derive from. */
  readonly names: RegExp;
  readonly command: string;
  readonly packages: Readonly<Record<LibraryName, string>>;
}

const DISTRIBUTIONS: readonly Distribution[] = [
  {
    names: /\b(debian|ubuntu)\b/,
    command: "apt-get install",
    packages: {
      libibverbs: "libibverbs1 ibverbs-providers",
      librdmacm: "librdmacm1t64",
      libefa: "ibverbs-providers",
    },
  },
  {
    names: /\b(fedora|rhel|centos)\b/,
    command: "dnf install",
    packages: { libibverbs: "libibverbs", librdmacm: "librdmacm", libefa: "libibverbs" },
  },
  {
    names: /\b(suse|sles)\b/,
    command: "zypper install",
    packages: { libibverbs: "libibverbs", librdmacm: "librdmacm1", libefa: "libefa1" },
  },
  {
    names: /\barch\b/,
    command: "pacman -S",
    packages: { libibverbs: "rdma-core", librdmacm: "rdma-core", libefa: "rdma-core" },
  },
];

/** Releases of Debian and Ubuntu before the change to 64-bit times, which renamed packages. */
const BEFORE_T64 = /^debian ([1-9]|1[012])$|^ubuntu (1\d|2[0-3])\b/;

/** The commands that install a library, by the text of `/etc/os-release`: all of them if it names none. */
export function installCommands(osRelease: string, library: LibraryName = "libibverbs"): string {
  const valuesOf = (key: string): string =>
    Array.from(
      osRelease.matchAll(new RegExp(`^${key}="?([^"\\n]*)`, "gm")),
      ([, value]) => value,
    ).join(" ");
  const names = valuesOf("ID(?:_LIKE)?");
  const found = DISTRIBUTIONS.find((one) => one.names.test(names));
  const isOld = BEFORE_T64.test(`${valuesOf("ID")} ${valuesOf("VERSION_ID")}`);
  const commands = (found === undefined ? DISTRIBUTIONS : [found]).map(({ command, packages }) =>
    `"${command} ${isOld ? packages[library].replace("t64", "") : packages[library]}"`
  );
  return commands.join(" or ");
}

/** The text that names the distribution. Empty if there is none. */
export function osRelease(): string {
  return textOf("/etc/os-release");
}

/** The start of a file, read by the C library: Deno would ask for a permission. Empty if it cannot be read. */
export function textOf(path: string): string {
  const { open, read, close } = libc();
  const descriptor = open(cString(path), 0);
  if (descriptor < 0) return "";
  const bytes = new Uint8Array(4096);
  const length = Number(read(descriptor, bytes, BigInt(bytes.length)));
  close(descriptor);
  return new TextDecoder().decode(bytes.subarray(0, Math.max(0, length)));
}
