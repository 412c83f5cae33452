/** The tests that need no device and test the library, not the tools. */

import { ensurePackages, type Need } from "../host/setup.ts";
import { testFiles } from "./files.ts";
import { foldersOf } from "./plan.ts";

/** Files and folders that test programs of the project's own machine, which always runs the newest Deno. */
const OF_TOOLS = [
  "rxe/tests",
  "tests/pure/docs",
  "tests/pure/tools",
  "tests/library/misuse",
  "tests/library/tools",
];

const reason = "the tests compile and run C";
/** What the tests of the library need of the system. */
export const NEEDS: readonly Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
  { package: "librdmacm-dev", file: "/usr/include/rdma/rdma_cma.h", reason },
  { package: "gcc-aarch64-linux-gnu", file: "/usr/bin/aarch64-linux-gnu-gcc", reason },
  { package: "libc6-dev-arm64-cross", file: "/usr/aarch64-linux-gnu/include/stdio.h", reason },
];

export function libraryTests(): string[] {
  return testFiles([...foldersOf("pure"), ...foldersOf("library")])
    .filter((file) => !OF_TOOLS.some((folder) => file.startsWith(`${folder}/`)));
}

export async function ensureForLibraryTests(): Promise<void> {
  await ensurePackages(NEEDS);
}
