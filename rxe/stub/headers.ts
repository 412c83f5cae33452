/** The headers that a module for the guest's kernel is built with, unpacked into the cache. */

import { withFreshLists } from "../host/apt.ts";
import { cached } from "../host/cached.ts";
import { downloadPackage, ensurePackages, unpack } from "../host/packages.ts";
import { say } from "../host/report.ts";
import { ensureGuest } from "../guest/parts.ts";

// Nothing is built for other architectures, and nobody reads the documentation here.
const UNUSED = ["usr/share", "usr/src/*/arch/[!x]*/*", "usr/src/*/include/dt-bindings"];

/**
 * Fetches the headers when they are not in the cache, and a compiler when the host has none.
 *
 * @returns the folder of linux-headers-VERSION, beside the others as they are when installed.
 */
export async function kernelHeaders(): Promise<string> {
  const reason = "builds the stub HCA";
  await ensurePackages([
    { package: "gcc", file: "/usr/bin/gcc", reason },
    { package: "make", file: "/usr/bin/make", reason },
    { package: "libelf1", file: "/usr/lib/x86_64-linux-gnu/libelf.so.1", reason },
  ]);
  const { kernel: { version } } = await ensureGuest();
  const folder = await cached(
    `guest/headers-${version}`,
    (partial) => withFreshLists(() => fetchHeaders(version, partial)),
  );
  return `${folder}/usr/src/linux-headers-${version}`;
}

async function fetchHeaders(version: string, folder: string): Promise<void> {
  const common = version.replace(/[^-]*$/, "common");
  const [series] = version.match(/^\d+\.\d+/)!;
  const names = [`linux-headers-${version}`, `linux-headers-${common}`, `linux-kbuild-${series}`];
  for (const name of names) {
    const file = await downloadPackage(name, folder);
    say(`set-up: unpacking ${name}`);
    await unpack(file, folder, ["*"], UNUSED);
    await Deno.remove(file);
  }
}
