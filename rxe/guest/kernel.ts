/** The guest's kernel: the distribution's, unpacked into the cache and never installed on the host. */

import { fillFromArchive } from "../host/archive.ts";
import { cached, digest, filesBelow } from "../host/cached.ts";
import {
  cachedPackages,
  dependencyOf,
  ensurePackages,
  fetchPackage,
  neededBy,
} from "../host/packages.ts";
import { SetupError } from "../host/report.ts";
import { demand, exists } from "../host/shell.ts";
import { type KernelName, KERNELS, known } from "../host/systems.ts";

/** An unpacked kernel. */
export interface Kernel {
  /** As `uname -r` prints it. */
  version: string;
  /** Holds the bootable image in `boot/kernel`, and the modules in `lib/modules/VERSION`. */
  folder: string;
}

// The boot protocol's header: https://docs.kernel.org/arch/x86/boot.html
const SETUP_SECTORS = 0x1f1;
const MAGIC = 0x202;
const PAYLOAD_OFFSET = 0x248;
const PAYLOAD_LENGTH = 0x24c;
const SECTOR = 512;

const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];

// Modules that the guest, the tests' kernel module and the examples ask for: files, and folders of files.
const WANTED = [
  "arch/x86/crypto/crc32",
  "crypto/crc32",
  "drivers/char/virtio_console",
  "drivers/infiniband/core/",
  "drivers/infiniband/hw/mlx4/",
  "drivers/infiniband/sw/",
  "drivers/net/dummy",
  "drivers/net/ethernet/mellanox/mlx4/",
  "drivers/net/veth",
  "drivers/net/virtio_net",
  "drivers/virtio/",
  "fs/9p/",
  "fs/overlayfs/",
  "net/9p/",
  "net/sched/sch_netem",
  "net/sched/sch_tbf",
];

const UNREAD = ["--exclude=./usr/share"];

/** The packages of a kernel: one, or in newer releases several. */
const PARTS = /^linux-(image|binary|modules|base)-\d/;

/** How modules are compressed, if they are. */
const UNPACKERS = [
  { ending: ".xz", from: "xz-utils", command: ["xz", "-d"] },
  { ending: ".zst", from: "zstd", command: ["zstd", "-d", "-q", "--rm"] },
] as const;

/**
 * The kernel in the cache, fetched first when there is none.
 *
 * @param name Undefined for that of the host's packages.
 */
export async function ensureKernel(name?: KernelName): Promise<Kernel> {
  const path = `kernel-${name === undefined ? "" : `${name}-`}${await digest([WANTED.join()])}`;
  const folder = await kernelPackages(path, name, async (folder, apt, download) => {
    const image = name === undefined
      ? await dependencyOf("linux-image-amd64", /linux-image-\d\S*/)
      : await newestKernel(name, apt);
    await download(await neededBy(image, PARTS, apt), UNREAD);
    await arrange(folder, image.replace("linux-image-", ""));
  });
  const [entry] = Deno.readDirSync(`${folder}/lib/modules`);
  return { version: entry!.name, folder };
}

/** Unpacks packages. */
export type Download = (names: readonly string[], options: string[]) => Promise<void>;

/**
 * A folder of the cache that is filled from packages of a kernel.
 *
 * @param path The folder's path in the part of the cache for guests.
 * @param apt The options of apt that knows them.
 */
export async function kernelPackages(
  path: string,
  name: KernelName | undefined,
  fill: (folder: string, apt: readonly string[], download: Download) => Promise<void>,
): Promise<string> {
  const from = (folder: string, apt: readonly string[]): Promise<void> =>
    fill(folder, apt, async (names, options) => {
      for (const name of names) await fetchPackage(name, folder, ["*"], options, apt);
    });
  if (name === undefined) {
    return await cachedPackages(`guest/${path}`, (folder) => from(folder, []));
  }
  const wanted = { ...known(KERNELS, "kernel", name), what: `Linux ${name}` };
  return await cached(
    `guest/${path}`,
    (folder) => fillFromArchive(wanted, folder, ({ options }) => from(folder, options)),
  );
}

/**
 * The package of the newest kernel of that name in a release.
 *
 * @param apt Options of apt that has read its lists.
 */
export async function newestKernel(name: KernelName, apt: readonly string[]): Promise<string> {
  const names = (await demand("apt-cache", ...apt, "pkgnames", "linux-image-")).split("\n");
  const versions = (prefix: string): string[] =>
    names.filter((name) =>
      name.startsWith(prefix) && /^linux-image-[\d.]+(-\d+)?(\+\w+)?-amd64$/.test(name)
    );
  const order = new Intl.Collator("en", { numeric: true });
  const found = versions(`linux-image-${name}.`).sort(order.compare).at(-1);
  if (found !== undefined) return found;
  const others = versions("linux-image-").sort(order.compare)
    .map((other) => other.replace(/^linux-image-|-amd64$/g, "")).join(", ") || "none";
  throw new SetupError(`the release has no kernel ${name} any more, only ${others}`);
}

/** Moves what was unpacked to where a kernel is expected, and removes the modules that are not needed. */
async function arrange(folder: string, version: string): Promise<void> {
  const modules = `${folder}/lib/modules/${version}`;
  if (exists(`${folder}/usr/lib/modules`)) {
    await Deno.mkdir(`${folder}/lib`, { recursive: true });
    await Deno.rename(`${folder}/usr/lib/modules`, `${folder}/lib/modules`);
  }
  await Deno.mkdir(`${folder}/boot`, { recursive: true });
  const image = [`${folder}/boot/vmlinuz-${version}`, `${modules}/vmlinuz`].find(exists);
  if (image === undefined) throw new SetupError(`the packages of Linux ${version} have no vmlinuz`);
  const kernel = `${folder}/boot/kernel`;
  if (!await extractKernel(image, kernel)) await Deno.rename(image, kernel);
  for (const { name } of [...Deno.readDirSync(`${folder}/boot`)]) {
    if (name !== "kernel") await Deno.remove(`${folder}/boot/${name}`);
  }
  const depmod = ["/sbin/depmod", "-b", folder, version] as const;
  await demand(...depmod);
  const needed = neededModules(await Deno.readTextFile(`${modules}/modules.dep`));
  for (const file of filesBelow(modules)) {
    if (file.startsWith("kernel/") ? !needed.has(file) : !file.startsWith("modules.")) {
      await Deno.remove(`${modules}/${file}`);
    }
  }
  for (const { ending, from, command } of UNPACKERS) {
    const packed = [...needed].filter((file) => file.endsWith(ending));
    if (packed.length === 0) continue;
    const reason = "unpacks the guest's kernel modules";
    await ensurePackages([{ package: from, file: `/usr/bin/${command[0]}`, reason }]);
    const [program, ...options] = command;
    await demand(program, ...options, ...packed.map((file) => `${modules}/${file}`));
  }
  await demand(...depmod);
}

/** The wanted files of a kernel, and those that they depend on, from what depmod writes. */
export function neededModules(dependencies: string): Set<string> {
  const lines = dependencies.matchAll(/^(.+): ?(.*)$/gm);
  return new Set([...lines].flatMap(([, file = "", others = ""]) => {
    const isWanted = WANTED.some((path) => file.startsWith(`kernel/${path}`));
    return isWanted ? [file, ...others.split(" ").filter((other) => other !== "")] : [];
  }));
}

/**
 * The compressed kernel of an image, without the four bytes of its size that follow it; undefined
 * when it is not xz.
 */
export function xzPayload(image: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  if (image.length < SECTOR * 2 || view.getUint32(MAGIC, true) !== 0x53726448) return undefined;
  // Zero means four, from before the field existed.
  const start = ((image[SETUP_SECTORS] || 4) + 1) * SECTOR + view.getUint32(PAYLOAD_OFFSET, true);
  const payload = image.slice(start, start + view.getUint32(PAYLOAD_LENGTH, true) - 4);
  return XZ.every((byte, i) => payload[i] === byte) ? payload : undefined;
}

/**
 * Writes the kernel inside an image to a file; false when the image holds it in another form. QEMU
 * starts it without a firmware and without the image's own decompressor, which takes seconds where
 * the guest's instructions are emulated.
 */
export async function extractKernel(image: string, target: string): Promise<boolean> {
  const payload = xzPayload(await Deno.readFile(image));
  if (!payload) return false;
  await Deno.writeFile(`${target}.xz`, payload);
  await demand("xz", "-d", `${target}.xz`);
  return true;
}
