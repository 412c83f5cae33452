/** How to install libibverbs on the distribution at hand. */

import { libc } from "../libc.ts";
import { cString } from "../pointers.ts";

/** Commands by the names that distributions give themselves, and those that they are like. */
const COMMANDS: readonly (readonly [names: RegExp, command: string])[] = [
  [/\b(debian|ubuntu)\b/, "apt-get install libibverbs1 ibverbs-providers"],
  [/\b(fedora|rhel|centos)\b/, "dnf install libibverbs"],
  [/\b(suse|sles)\b/, "zypper install libibverbs"],
  [/\barch\b/, "pacman -S rdma-core"],
];

/** The commands that install libibverbs, by the text of `/etc/os-release`: all of them if it names none. */
export function installCommands(osRelease: string): string {
  const names = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)/gm)].map(([, name]) => name).join(" ");
  const found = COMMANDS.find(([pattern]) => pattern.test(names));
  const commands = (found === undefined ? COMMANDS : [found]).map(([, command]) => `"${command}"`);
  return commands.join(" or ");
}

/** The text that names the distribution, read by the C library: Deno would ask for a permission. Empty if there is none. */
export function osRelease(path = "/etc/os-release"): string {
  const { open, read, close } = libc();
  const descriptor = open(cString(path), 0);
  if (descriptor < 0) return "";
  const bytes = new Uint8Array(4096);
  const length = Number(read(descriptor, bytes, BigInt(bytes.length)));
  close(descriptor);
  return new TextDecoder().decode(bytes.subarray(0, Math.max(0, length)));
}
