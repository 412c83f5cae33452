/** Faults of libibverbs, of the kernel and of limits. */

import type { DeviceFile, HostFacts } from "./facts.ts";
import type { Check, Fault } from "./finding.ts";

/** With less than this, programs with a few queues fail. */
const LEAST_LOCKED = 1 << 20;
const LEAST_FILES = 128;

/** What a device needs before libibverbs opens it. */
export const DEVICE_CHECKS: Readonly<Record<string, Check>> = {
  "no-library": ({ library: { error } }) => error === null ? [] : [noLibrary(error)],
  "no-module": ({ uverbs }) =>
    uverbs !== null ? [] : [{
      level: "broken",
      subject: "kernel",
      problem: "the kernel module ib_uverbs is not loaded",
      remedy: "load it and the driver of the adapter as root: modprobe ib_uverbs; " +
        "modprobe rdma_rxe, mlx5_ib or another one",
    }],
  "exclusive-namespace": ({ namespaces, files, inKernel }) =>
    namespaces === "shared" ? [] : files.filter(({ device }) => !inKernel.includes(device)).map((
      { device },
    ) => ({
      subject: device,
      problem: "the device belongs to another network namespace, because they are exclusive",
      remedy:
        `move it as root, from where it is: rdma dev set ${device} netns NAME; or share all ` +
        "devices while there is no other namespace: rdma system set netns shared",
    })),
  "no-device": ({ uverbs, files, inKernel }) =>
    uverbs === null || files.length > 0 || inKernel.length > 0 ? [] : [{
      level: "broken",
      subject: "kernel",
      problem: "the kernel has no RDMA device",
      remedy: "load the driver of the adapter, or make a soft-RoCE device as root: " +
        "rdma link add rxe0 type rxe netdev NETDEV",
    }],
  "no-device-file": filesThat("ENOENT", ({ name }) => ({
    problem: `the device file /dev/infiniband/${name} is missing`,
    remedy: `in a container: docker run --device=/dev/infiniband/${name}; elsewhere udev makes it`,
  })),
  "no-rights": filesThat("EACCES", ({ name }) => ({
    problem: `this user may not open /dev/infiniband/${name}`,
    remedy: `as root: chmod a+rw /dev/infiniband/${name}; udev does it if rdma-core is installed`,
  })),
  "forbidden": filesThat("EPERM", ({ name }) => ({
    problem: `this container may not open /dev/infiniband/${name}`,
    remedy: `let its control group have the device: docker run --device=/dev/infiniband/${name}`,
  })),
  "no-provider": (facts) =>
    otherProvider(facts) !== undefined ? [] : unlisted(facts).map((subject) => ({
      subject,
      problem: "libibverbs has no provider for the device",
      remedy: "install the providers: ibverbs-providers (Debian, Ubuntu) or rdma-core (others)",
    })),
  "provider-version": (facts) =>
    otherProvider(facts) === undefined ? [] : unlisted(facts).map((subject) => ({
      subject,
      problem: `libibverbs loads providers with names like libmlx5${facts.library.suffix}, and ` +
        `those that are installed are of another version: ${otherProvider(facts)}`,
      remedy: "install libibverbs and its providers of one release of rdma-core",
    })),
  "cannot-open": (facts) =>
    facts.devices.flatMap(({ name, error }) =>
      error === null || facts.files.some((file) => file.device === name && file.error !== null)
        ? []
        : [{ subject: name, problem: error, remedy: "look at the end of dmesg" }]
    ),
};

/** Limits of what programs may use. */
export const LIMIT_CHECKS: Readonly<Record<string, Check>> = {
  "locked-memory": ({ limits: { lockedMemory } }) =>
    lockedMemory === null || lockedMemory >= LEAST_LOCKED ? [] : [{
      level: "warning",
      subject: "limits",
      problem: `a program may lock only ${lockedMemory >> 10} KiB of memory`,
      remedy: '"* - memlock unlimited" in /etc/security/limits.d/rdma.conf and a new login; ' +
        "docker run --ulimit memlock=-1",
    }],
  "open-files": ({ limits: { openFiles } }) =>
    openFiles === null || openFiles >= LEAST_FILES ? [] : [{
      level: "warning",
      subject: "limits",
      problem: `a program may have only ${openFiles} files open`,
      remedy: 'ulimit -n 4096, or "* - nofile 4096" in /etc/security/limits.d/rdma.conf',
    }],
  "no-rdma-ucm": ({ uverbs, rdmaUcm }) =>
    uverbs === null || rdmaUcm ? [] : [{
      level: "warning",
      subject: "kernel",
      problem: "the kernel module rdma_ucm is not loaded: programs that use librdmacm fail",
      remedy: "as root: modprobe rdma_ucm",
    }],
};

function noLibrary(error: string): Fault {
  const lines = error.split("\n");
  return {
    subject: "libibverbs",
    problem: lines[0]!.replace(/, tried:$/, ""),
    remedy: lines.length > 1 ? lines.at(-1)! : "docs/troubleshooting.md lists what is supported",
  };
}

/** A check of device files that cannot be opened for one reason, for the devices in this namespace. */
function filesThat(
  error: string,
  describe: (file: DeviceFile) => Pick<Fault, "problem" | "remedy">,
): Check {
  return ({ files, inKernel }) =>
    files.filter((file) => file.error === error && inKernel.includes(file.device))
      .map((file) => ({ subject: file.device, ...describe(file) }));
}

/** The devices of the kernel that can be opened, and that libibverbs does not list. */
function unlisted({ library, files, inKernel, devices }: HostFacts): string[] {
  if (library.error !== null) return [];
  const usable = files.filter(({ error }) => error === null).map(({ device }) => device);
  const listed = devices.map(({ name }) => name);
  return usable.filter((device) => inKernel.includes(device) && !listed.includes(device));
}

/** A provider of another version, if there is none of the version that libibverbs loads. */
function otherProvider({ library: { suffix, providers } }: HostFacts): string | undefined {
  const isOurs = suffix === null || providers.some((name) => name.endsWith(suffix));
  return isOurs ? undefined : providers.find((name) => /-rdmav\d+\.so$/.test(name));
}
