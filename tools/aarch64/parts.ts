/** Which tests run on aarch64, and which cannot run under emulation. */

import { testFiles } from "../tests/files.ts";

/** Tests that share one process. */
export interface Part {
  readonly name: string;
  readonly files: readonly string[];
}

/** What differs between architectures: layouts, machine code, registers of calls, and structs as C writes them. */
const SHORT = [
  "tests/pure/struct_test.ts",
  "tests/pure/thunks_code_test.ts",
  "tests/pure/thunks_image_test.ts",
  "tests/pure/core/attributes_test.ts",
  "tests/library/bind_test.ts",
  "tests/library/header_functions_test.ts",
  "tests/library/ops_test.ts",
  "tests/library/pointers_test.ts",
  "tests/library/thunks_test.ts",
  "tests/library/provider/requests_test.ts",
  "tests/library/provider/sends_test.ts",
];

/** Files and folders that test programs of the host, or run longer than a job of CI when each instruction is emulated. */
const HOSTS = [
  "tests/pure/bench",
  "tests/pure/docs",
  "tests/pure/rxe",
  "tests/pure/tools",
  "tests/library/docs",
  "tests/library/misuse",
  "tests/library/tools",
];

/** Tests that fail under emulation, with the reason. */
export const NOT_EMULATED: Readonly<Record<string, string>> = {
  "loadImage() throws ThunksUnavailable when memfd_create is refused": "qemu has no seccomp",
  "loadImage() does without MFD_EXEC when the kernel does not know it": "qemu has no seccomp",
};

/** The parts that run: those of some files or folders, the short form, or all. */
export function partsOf(paths: readonly string[], short: boolean): Part[] {
  const chosen = short ? SHORT : paths.length > 0 ? paths : ["tests/pure", "tests/library"];
  const files = testFiles(chosen).filter((file) =>
    paths.length > 0 || !HOSTS.some((host) => file.startsWith(`${host}/`))
  );
  return Object.entries(Object.groupBy(files, folderOf))
    .map(([name, files]) => ({ name, files: files! }));
}

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf("/"));
}
