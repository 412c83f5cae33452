/** The C compilers that know the installed header, one for each architecture. */

import { capture, type Finished, SetupError } from "../host/setup.ts";

/** The architectures that libibverbs and Deno have in common. */
export type Architecture = typeof Deno.build.arch;

/** What every program compiled here begins with. */
export const HEADER: string = "#define _GNU_SOURCE\n" + [
  ...["infiniband/verbs.h", "rdma/rdma_cma.h", "infiniband/efadv.h"],
  ...["dlfcn.h", "errno.h", "fcntl.h", "net/if.h", "poll.h"],
  ...["sys/epoll.h", "sys/eventfd.h", "sys/mman.h", "sys/resource.h", "sys/socket.h"],
].map((file) => `#include <${file}>\n`).join("");

/** What precedes `gcc` and `readelf` in the names of the tools for an architecture. */
export function prefixOf(arch: Architecture): string {
  return arch === Deno.build.arch ? "" : `${arch}-linux-gnu-`;
}

/** The architectures to check: the host's, and others whose compiler is installed. */
export async function usableArchitectures(): Promise<Architecture[]> {
  const other = Deno.build.arch === "x86_64" ? "aarch64" : "x86_64";
  const { status } = await gcc(other, HEADER, "-fsyntax-only").catch((error) => {
    if (!(error instanceof SetupError)) throw error;
    return { status: 1 };
  });
  return status === 0 ? [Deno.build.arch, other] : [Deno.build.arch];
}

/** Compiles a program. Its messages have the names that `#line` gives. */
export async function gcc(
  arch: Architecture,
  source: string,
  ...flags: string[]
): Promise<Finished> {
  const prefix = prefixOf(arch);
  // A cross compiler has its own libc headers; only what it lacks (the verbs) comes from the host's folder.
  const include = prefix === "" ? [] : ["-idirafter", "/usr/include"];
  const file = await Deno.makeTempFile({ suffix: ".c" });
  try {
    await Deno.writeTextFile(file, source);
    const all = ["-w", "-ftrack-macro-expansion=0", ...include, ...flags, file];
    return await capture(`${prefix}gcc`, ...all);
  } finally {
    await Deno.remove(file);
  }
}
