/**
 * The guest's kernel: the distribution's, unpacked into the cache and never installed on the host.
 */

import { withFreshLists } from "../host/apt.ts";
import { cached, digest } from "../host/cached.ts";
import { dependencyOf, downloadPackage, unpack } from "../host/packages.ts";
import { say } from "../host/report.ts";
import { demand } from "../host/shell.ts";
import { extractKernel } from "./vmlinux.ts";

/** An unpacked kernel. */
export interface Kernel {
  /** As `uname -r` prints it. */
  version: string;
  /** The bootable image. */
  image: string;
  /** The folder that is `/lib/modules/VERSION` in the guest. */
  modules: string;
}

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
  const folder = await cached(
    `guest/kernel-${await digest([WANTED.join()])}`,
    (partial) => withFreshLists(() => fetchKernel(partial)),
  );
  const version = firstEntry(`${folder}/lib/modules`);
  return {
    version,
    image: `${folder}/boot/kernel`,
    modules: `${folder}/lib/modules/${version}`,
  };
}

async function fetchKernel(folder: string): Promise<void> {
  const name = await dependencyOf("linux-image-amd64", /linux-image-\d\S*/);
  const version = name.replace("linux-image-", "");
  const file = await downloadPackage(name, folder);
  say("set-up: unpacking the guest's kernel");
  const modules = WANTED.map((pattern) => `lib/modules/${version}/kernel/${pattern}`);
  await unpack(file, folder, ["boot/vmlinuz-*", `lib/modules/${version}/modules.*`, ...modules]);
  await Deno.remove(file);
  await demand("/sbin/depmod", "-b", folder, version);
  const image = `${folder}/boot/vmlinuz-${version}`;
  const kernel = `${folder}/boot/kernel`;
  if (await extractKernel(image, kernel)) await Deno.remove(image);
  else await Deno.rename(image, kernel);
}

function firstEntry(folder: string): string {
  for (const entry of Deno.readDirSync(folder)) return entry.name;
  throw new Error(`Cannot read ${folder}: it is empty`);
}
