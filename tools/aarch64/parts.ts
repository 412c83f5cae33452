/** Which tests run on aarch64, and which cannot run under emulation. */

import { testFiles } from "../tests/files.ts";
import { libraryTests } from "../tests/of_library.ts";

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
  "tests/library/provider/twins_test.ts",
];

/** Tests that fail under emulation, with the reason. */
export const NOT_EMULATED: Readonly<Record<string, string>> = {
  "An iteration gets what another one polled and did not give out":
    "polling takes longer than the time that an iteration has for it",
  "loadImage() throws ThunksUnavailable when memfd_create is refused": "qemu has no seccomp",
  "loadImage() does without MFD_EXEC when the kernel does not know it": "qemu has no seccomp",
};

/** The files that run, by folder: those of some files or folders, the short form, or all. */
export function partsOf(paths: readonly string[], short: boolean): Map<string, string[]> {
  const chosen = short ? SHORT : paths;
  const files = chosen.length > 0 ? testFiles(chosen) : libraryTests();
  return Map.groupBy(files, (file) => file.slice(0, file.lastIndexOf("/")));
}
