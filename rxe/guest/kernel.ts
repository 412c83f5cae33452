/** The guest's kernel: the distribution's, unpacked into the cache and never installed on the host. */

import { digest } from "../host/cached.ts";
import { cachedPackages, dependencyOf, fetchPackage } from "../host/packages.ts";
import { demand } from "../host/shell.ts";

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

// What the guest, the tests' kernel module and the examples ask for, with room for what those
// depend on.
const WANTED = [
  "arch/x86/crypto/crc32*",
  "crypto/crc32*",
  "drivers/char/virtio_console.ko",
  "drivers/infiniband/core/*",
  "drivers/infiniband/hw/mlx4/*",
  "drivers/infiniband/sw/*",
  "drivers/net/dummy.ko",
  "drivers/net/net_failover.ko",
  "drivers/net/ethernet/mellanox/mlx4/*",
  "drivers/net/veth.ko",
  "drivers/net/virtio_net.ko",
  "drivers/virtio/*",
  "fs/9p/*",
  "fs/configfs/*",
  "fs/fscache/*",
  "fs/netfs/*",
  "fs/overlayfs/*",
  "net/9p/*",
  "net/core/failover.ko",
  "net/ipv4/udp_tunnel.ko",
  "net/ipv6/ip6_udp_tunnel.ko",
  "net/sched/sch_netem.ko",
];

/** The kernel in the cache, fetched first when there is none. */
export async function ensureKernel(): Promise<Kernel> {
  const name = `guest/kernel-${await digest([WANTED.join()])}`;
  const folder = await cachedPackages(name, fetchKernel);
  const [entry] = Deno.readDirSync(`${folder}/lib/modules`);
  return { version: entry!.name, folder };
}

async function fetchKernel(folder: string): Promise<void> {
  const name = await dependencyOf("linux-image-amd64", /linux-image-\d\S*/);
  const version = name.replace("linux-image-", "");
  const modules = ["modules.*", ...WANTED.map((pattern) => `kernel/${pattern}`)]
    .map((pattern) => `lib/modules/${version}/${pattern}`);
  await fetchPackage(name, folder, ["boot/vmlinuz-*", ...modules]);
  await demand("/sbin/depmod", "-b", folder, version);
  const image = `${folder}/boot/vmlinuz-${version}`;
  const kernel = `${folder}/boot/kernel`;
  if (await extractKernel(image, kernel)) await Deno.remove(image);
  else await Deno.rename(image, kernel);
}

/**
 * The compressed kernel of an image, without the four bytes of its size that follow it; undefined
 * when it is not xz.
 */
export function xzPayload(image: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  if (image.length < SECTOR * 2 || view.getUint32(MAGIC, true) !== 0x53726448) return undefined;
  // Zero stands for four, from times before the field existed.
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
