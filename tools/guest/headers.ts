/** The headers that a module for the guest's kernel is built with, unpacked into the cache. */

import { cache } from "../host/paths.ts";
import { downloadPackage, ensurePackages, unpack } from "../host/packages.ts";
import { say } from "../host/report.ts";
import { exists } from "../host/shell.ts";
import { ensureKernel } from "./kernel.ts";

// Nothing is built for other architectures, and nobody reads the documentation here.
const UNUSED = ["usr/share", "usr/src/*/arch/[!x]*/*", "usr/src/*/include/dt-bindings"];

/**
 * Fetches the headers when they are not in the cache, and a compiler when the host has none.
 *
 * @returns the folder of linux-headers-VERSION, beside the others as they are when installed.
 */
export async function kernelHeaders(): Promise<string> {
  const reason = "builds the tests' kernel module";
  await ensurePackages([
    { package: "gcc", file: "/usr/bin/gcc", reason },
    { package: "make", file: "/usr/bin/make", reason },
    { package: "libelf1", file: "/usr/lib/x86_64-linux-gnu/libelf.so.1", reason },
  ]);
  const { version } = await ensureKernel();
  const folder = `${cache}/guest/headers-${version}`;
  if (!exists(folder)) await fetchHeaders(version, folder);
  return `${folder}/usr/src/linux-headers-${version}`;
}

async function fetchHeaders(version: string, folder: string): Promise<void> {
  const partial = `${folder}.partial`;
  if (exists(partial)) await Deno.remove(partial, { recursive: true });
  const common = version.replace(/[^-]*$/, "common");
  const [series] = version.match(/^\d+\.\d+/)!;
  for (
    const name of [`linux-headers-${version}`, `linux-headers-${common}`, `linux-kbuild-${series}`]
  ) {
    const file = await downloadPackage(name, partial);
    say(`set-up: unpacking ${name}`);
    await unpack(file, partial, ["*"], UNUSED);
    await Deno.remove(file);
  }
  await Deno.rename(partial, folder);
}
