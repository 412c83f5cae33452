/** The initial file system of the guest's kernel: a shell, modules, and the command to run. */

import { asset } from "../asset.ts";
import { demand, quote } from "../host/shell.ts";
import { cpio, type Entry } from "./cpio.ts";
import type { Kernel } from "./kernel.ts";

// What the first process needs; anything else can be loaded later with modprobe.
const MODULES = [
  ...["9p", "9pnet_virtio", "virtio_pci", "virtio_console", "overlay"],
  ...["dummy", "virtio_net", "rdma_rxe", "ib_uverbs", "ib_umad", "rdma_ucm"],
];

/** A module that rxe requests by the name of an algorithm. Newer kernels have it built in. */
const CHECKSUM = "crc32_generic";

/** A folder that host and guest share both ways. */
export interface Share {
  /** The name by which QEMU offers it. */
  tag: string;
  /** Its path, the same in the guest. */
  path: string;
}

/** What is to run in the guest. */
export interface Session {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  shares: readonly Share[];
  /** The file of the stub HCA's module, if the guest has that device. */
  stub: string | undefined;
  /** How the guest is set up, as variables of init.sh that the command does not see. */
  settings: Readonly<Record<string, string>>;
}

/** Builds the archive for one run. */
export async function initramfs(
  kernel: Kernel,
  busybox: string,
  session: Session,
): Promise<Uint8Array<ArrayBuffer>> {
  const modules = await moduleFiles(kernel);
  const names = modules.map((path) => path.slice(path.lastIndexOf("/") + 1));
  const folders = ["bin", "modules", "programs", "proc", "sys", "dev", "host"];
  return cpio([
    ...folders.map((name) => ({ name })),
    file("bin/busybox", busybox),
    { name: "init", contents: await asset("guest/init.sh") },
    { name: "programs/deno", contents: await asset("guest/deno.sh") },
    ...session.stub === undefined ? [] : [
      { name: "programs/with_stub", contents: await asset("stub/with_stub.sh") },
      file("programs/stub_hca.ko", session.stub),
    ],
    ...modules.map((path, i) => file(`modules/${names[i]}`, path)),
    text("modules.order", names.join("\n")),
    text("shares", session.shares.map(({ tag, path }) => `share ${tag} ${quote(path)}\n`).join("")),
    text(
      "guest.env",
      assignments({
        KERNEL: kernel.version,
        MODULES: `${kernel.folder}/lib/modules/${kernel.version}`,
        ...session.settings,
      }),
    ),
    text("command.sh", commandScript(session)),
  ]);
}

function commandScript({ command, cwd, env, stub }: Session): string {
  const words = [...stub === undefined ? [] : ["with_stub"], ...command].map(quote);
  return [
    `set -a\n${assignments(env)}set +a`,
    "export PATH=/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    'mkdir -p "$HOME"',
    `cd ${quote(cwd)} || exit 127`,
    `exec ${words.join(" ")}\n`,
  ].join("\n");
}

/** Shell assignments of the given variables. */
export function assignments(env: Readonly<Record<string, string>>): string {
  return Object.entries(env).map(([name, value]) => `${name}=${quote(value)}\n`).join("");
}

/** The modules and what they depend on, in the order in which they load. */
async function moduleFiles(kernel: Kernel): Promise<string[]> {
  // The host may be configured not to load a module, which does not matter in the guest.
  const options = ["-C", "/dev/null", "-d", kernel.folder, "-S", kernel.version];
  const modules = `${kernel.folder}/lib/modules/${kernel.version}`;
  const older = (await Deno.readTextFile(`${modules}/modules.dep`)).includes(`/${CHECKSUM}.ko:`);
  const names = [...older ? [CHECKSUM] : [], ...MODULES];
  const listed = await demand("/sbin/modprobe", ...options, "-a", "--show-depends", ...names);
  return [...new Set([...listed.matchAll(/insmod (.*\.ko)/g)].map((match) => match[1]!))];
}

function file(name: string, path: string): Entry {
  return { name, contents: Deno.readFileSync(path) };
}

function text(name: string, contents: string): Entry {
  return { name, contents: new TextEncoder().encode(contents) };
}
