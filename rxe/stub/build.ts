/** Builds kernel modules for the guest, among them the one that simulates an RDMA adapter, from rxe/stub_hca. */

import { dirname } from "node:path";
import { asset } from "../asset.ts";
import { ensureKernel, kernelPackages } from "../guest/kernel.ts";
import { cached, digest } from "../host/cached.ts";
import { say } from "../host/report.ts";
import { ensurePackages, neededBy } from "../host/packages.ts";
import { demand } from "../host/shell.ts";
import { inTemporary, TemporaryFolder } from "../host/temporary.ts";
import { type KernelName, KERNELS } from "../host/systems.ts";
import { ensureUserland, within } from "../host/userland.ts";

/** The packages of a kernel's headers. */
const HEADERS = /^linux-(headers|kbuild)-\d/;

// Nothing is built for other architectures, and nobody reads the documentation here.
const UNUSED = ["usr/share", "usr/src/*/arch/[!x]*/*", "usr/src/*/include/dt-bindings"]
  .map((pattern) => `--exclude=./${pattern}`);

/** The sources of the module, by name, because a registry cannot list a folder. */
export const STUB_SOURCES: readonly string[] = [
  ...["Kbuild", "Makefile", "efa.h", "stub.h"],
  ...[
    ...["clock", "context", "cq", "debugfs", "device", "efa", "efa_area", "efa_cq", "efa_qp"],
    ...["efa_send", "event", "fail", "flow", "main", "mr", "mw", "port", "qp", "qp_modify"],
    ...["queue", "receive", "record", "rss", "send", "srq", "tick", "traffic", "wq"],
  ].map((name) => `${name}.c`),
];

/** A file that modules are built from. */
export type Source = readonly [name: string, contents: Uint8Array<ArrayBuffer>];

/**
 * The file of the stub HCA's module, built first when its sources or the kernel have changed.
 *
 * @param enter is called with a stage that takes long.
 */
export async function ensureStub(
  kernel?: KernelName,
  enter?: (stage: string) => void,
): Promise<string> {
  const sources = await Promise.all(
    STUB_SOURCES.map(async (name): Promise<Source> => [name, await asset(`stub_hca/${name}`)]),
  );
  return `${await ensureModules("stub_hca", sources, kernel, enter)}/stub_hca.ko`;
}

/**
 * The folder of the modules that are built from sources, which have a Kbuild and the Makefile of the stub HCA among them.
 * They are built first when their sources or the kernel have changed.
 */
export async function ensureModules(
  name: string,
  sources: readonly Source[],
  kernel?: KernelName,
  enter: (stage: string) => void = () => {},
): Promise<string> {
  const { version } = await ensureKernel(kernel);
  return await cached(
    `${name}/${await digest([version, ...sources.flat()])}`,
    async (partial) => {
      const headers = await kernelHeaders(version, kernel);
      // Programs among the headers need the C library of the kernel's own release.
      const userland = kernel && await ensureUserland(KERNELS[kernel].userland);
      say(`set-up: building the kernel module ${name}, once: about a minute`);
      enter(`building the kernel module ${name}`);
      await buildModules(sources, headers, partial, userland);
    },
  );
}

/**
 * Builds modules in a temporary folder.
 *
 * @param headers the folder of linux-headers-VERSION, with the others beside it.
 * @param target the folder that gets the modules.
 * @param userland whose compiler builds it; this host's by default.
 */
export async function buildModules(
  sources: readonly Source[],
  headers: string,
  target: string,
  userland?: string,
): Promise<void> {
  await using temporary = await TemporaryFolder.make("rxe-module-");
  const folder = temporary.path;
  const module = await inTemporary(async () => {
    await Deno.mkdir(`${folder}/sources`);
    for (const [name, contents] of sources) {
      await Deno.writeFile(`${folder}/sources/${name}`, contents);
    }
    const kernel = await withoutSpaces(headers, `${folder}/headers`);
    const settings = [`KDIR=${kernel}`, `OUT=${folder}/module`];
    const make = ["-s", "-C", `${folder}/sources`, ...settings];
    const [program, ...args] = userland === undefined
      ? ["make", ...make] as const
      : within(userland, ["make", ...make]);
    await demand(program, ...args);
    return `${folder}/module`;
  });
  for (const { name } of Deno.readDirSync(module)) {
    if (name.endsWith(".ko")) await Deno.copyFile(`${module}/${name}`, `${target}/${name}`);
  }
}

/** The kernel's makefiles refuse a path with a space or a colon, a link to one too. */
async function withoutSpaces(headers: string, copy: string): Promise<string> {
  if (!/[\s:]/.test(headers)) return headers;
  // The headers have links to ../../lib.
  const usr = dirname(dirname(headers));
  await demand("cp", "-a", usr, copy);
  return copy + headers.slice(usr.length);
}

/**
 * Fetches the headers when they are not in the cache, and a compiler when the host has none.
 *
 * @returns the folder of linux-headers-VERSION, beside the others as they are when installed.
 */
async function kernelHeaders(version: string, kernel: KernelName | undefined): Promise<string> {
  const reason = "builds kernel modules";
  if (kernel === undefined) {
    await ensurePackages([
      { package: "gcc", file: "/usr/bin/gcc", reason },
      { package: "make", file: "/usr/bin/make", reason },
      { package: "libelf1", file: "/usr/lib/x86_64-linux-gnu/libelf.so.1", reason },
    ]);
  }
  const name = `linux-headers-${version}`;
  const folder = await kernelPackages(`headers-${version}`, kernel, async (_, apt, download) => {
    await download(await neededBy(name, HEADERS, apt), UNUSED);
  });
  return `${folder}/usr/src/${name}`;
}
