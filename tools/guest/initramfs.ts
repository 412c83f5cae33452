/**
 * What the guest's kernel finds when it starts: a shell, the modules that reach the host's root,
 * and the command to run.
 */

import { inProject } from "../host/paths.ts";
import { demand, quote } from "../host/shell.ts";
import { cpio, type Entry } from "./cpio.ts";
import type { Kernel } from "./kernel.ts";

// What the first process needs; anything else can be loaded later with modprobe.
const MODULES = [
  ...["9p", "9pnet_virtio", "virtio_pci", "virtio_console", "overlay"],
  ...["dummy", "crc32_generic", "rdma_rxe", "ib_uverbs", "ib_umad", "rdma_ucm"],
];

/** What is to run in the guest. */
export interface Session {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** Builds the archive for one run. */
export async function initramfs(
  kernel: Kernel,
  busybox: string,
  session: Session,
): Promise<Uint8Array<ArrayBuffer>> {
  const modules = await moduleFiles(kernel);
  const names = modules.map((path) => path.slice(path.lastIndexOf("/") + 1));
  const folders = ["bin", "modules", "proc", "sys", "dev", "host"];
  return cpio([
    ...folders.map((name) => ({ name })),
    file("bin/busybox", busybox),
    file("init", inProject("tools/guest/init.sh")),
    file("deno", inProject("tools/guest/deno.sh")),
    ...modules.map((path, i) => file(`modules/${names[i]}`, path)),
    text("modules.order", names.join("\n")),
    text(
      "guest.env",
      assignments({ KERNEL: kernel.version, MODULES: kernel.modules, ...session.env }),
    ),
    text(
      "command.sh",
      `cd ${quote(session.cwd)} || exit 127\nexec ${session.command.map(quote).join(" ")}\n`,
    ),
  ]);
}

/** Shell assignments of the given variables. */
export function assignments(env: Readonly<Record<string, string>>): string {
  return Object.entries(env).map(([name, value]) => `${name}=${quote(value)}\n`).join("");
}

/** The modules and what they depend on, in the order in which they load. */
async function moduleFiles(kernel: Kernel): Promise<string[]> {
  const root = kernel.modules.replace(/\/lib\/modules\/[^/]*$/, "");
  // The host may have reasons not to load a module; they are none in the guest.
  const options = ["-C", "/dev/null", "-d", root, "-S", kernel.version];
  const listed = await demand("/sbin/modprobe", ...options, "-a", "--show-depends", ...MODULES);
  return [...new Set([...listed.matchAll(/^insmod (.*\.ko)/gm)].map((match) => match[1]!))];
}

function file(name: string, path: string): Entry {
  return { name, contents: Deno.readFileSync(path) };
}

function text(name: string, contents: string): Entry {
  return { name, contents: new TextEncoder().encode(contents) };
}
