/** The parts of a guest, and the set-up that fetches them. */

import { cachedPackages, ensurePackages, fetchPackage, type Need } from "../host/packages.ts";
import { SetupError } from "../host/report.ts";
import { exists } from "../host/shell.ts";
import { type KernelName, KERNELS, known, type UserlandName, USERLANDS } from "../host/systems.ts";
import { ensureUserland } from "../host/userland.ts";
import { ensureKernel, type Kernel } from "./kernel.ts";

const NEEDS: Need[] = [
  { package: "xz-utils", file: "/usr/bin/xz", reason: "unpacks the guest's kernel" },
  { package: "qemu-system-x86", file: "/usr/bin/qemu-system-x86_64", reason: "runs the guest" },
  { package: "kmod", file: "/sbin/depmod", reason: "indexes and loads the guest's kernel modules" },
  { package: "iproute2", file: "/usr/bin/rdma", reason: "makes networks and RDMA devices" },
  {
    package: "ibverbs-providers",
    file: "/etc/libibverbs.d/rxe.driver",
    reason: "has rxe's driver",
  },
];

/** What a guest is made of. */
export interface Parts {
  kernel: Kernel;
  /** The path of a static busybox. */
  busybox: string;
  /** The folder of the userland, if it is not that of this host. */
  userland: string | undefined;
}

/**
 * The system of a guest.
 *
 * @category Options
 */
export interface System {
  /** Its kernel; that of this host's packages by default. */
  kernel?: KernelName | undefined;
  /**
   * The release of Debian whose programs and libraries the command finds; this host's by default. Folders such as /home
   * and /opt are still those of this host.
   */
  userland?: UserlandName | undefined;
}

/** Fetches and installs what the guest needs; quick when all is there. */
export async function ensureGuest(system: System = {}): Promise<Parts> {
  if (system.kernel !== undefined) known(KERNELS, "kernel", system.kernel);
  if (system.userland !== undefined) known(USERLANDS, "userland", system.userland);
  const { arch, os } = Deno.build;
  const cannot = "Cannot start the guest:";
  if (arch !== "x86_64" || os !== "linux") {
    throw new SetupError(`${cannot} it needs Linux on x86_64, this is ${os} on ${arch}`);
  }
  if (!exists("/usr/bin/apt-get")) {
    throw new SetupError(`${cannot} its kernel comes from Debian's packages by apt-get`);
  }
  await ensurePackages(NEEDS);
  // The static shell of the guest's first moments: installing it could displace the host's own. The
  // package of Debian 12 has it in bin/, later ones in usr/bin/.
  const shell = await cachedPackages(
    "guest/busybox",
    (folder) => fetchPackage("busybox-static", folder, ["*bin/busybox"], ["--transform=s,.*/,,"]),
  );
  return {
    kernel: await ensureKernel(system.kernel),
    busybox: `${shell}/busybox`,
    userland: system.userland && await ensureUserland(system.userland),
  };
}
