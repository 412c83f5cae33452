/** Runs tests that need no device by a real Deno for aarch64, which qemu emulates. */

import { stdArguments } from "./host/jsr.ts";
import { fetchDeno, runTests } from "./host/other_deno.ts";
import { inProject } from "./host/paths.ts";
import { cached, exists, fillFromArchive, SetupError, unpack } from "./host/setup.ts";
import { tool } from "./host/tool.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import { testFiles } from "./tests/files.ts";
import { ensureForLibraryTests } from "./tests/of_library.ts";

const HELP = `Runs tests of tests/pure and tests/library on aarch64, emulated by qemu.

  deno task long aarch64 [FILES OR FOLDERS...]

Deno, libibverbs and the C library are those for aarch64. They are downloaded into the cache.
Without FILES it runs the tests of layouts, structs, thunks and calls.
`;

/** The newest version of which npm has Deno for aarch64. */
const DENO = "2.9.5";

const PACKAGES = ["ibverbs-providers", "libc6", "libgcc-s1", "libibverbs1"]
  .concat(["libnl-3-200", "libnl-route-3-200"]);

/** What differs between architectures: layouts, machine code, registers of calls, and structs as C writes them. */
const FILES = [
  ...["thunks_code", "thunks_image", "core/attributes"].map((name) => `pure/${name}`),
  ...["bind", "header_functions", "ops", "pointers", "thunks", "provider/requests"]
    .map((name) => `library/${name}`),
].map((name) => `tests/${name}_test.ts`);

/** Tests that fail under emulation, with the reason. */
const NOT_EMULATED: Readonly<Record<string, string>> = {
  "An iteration gets what another one polled and did not give out":
    "polling takes longer than the time that an iteration has for it",
  "loadImage() throws ThunksUnavailable when memfd_create is refused": "qemu has no seccomp",
  "loadImage() does without MFD_EXEC when the kernel does not know it": "qemu has no seccomp",
};

await tool(HELP, {}, async (_options, operands) => {
  await ensureForLibraryTests();
  const folders = (await pathWithEmulator()).split(":");
  const qemu = folders.map((folder) => `${folder}/qemu-aarch64-static`).find(exists)!;
  const root = await libraries();
  const programs = inProject("tools/aarch64");
  const { passed, failed, ignored } = await runTests(
    {
      command: [`${programs}/deno`],
      name: "deno-aarch64",
      options: await stdArguments(),
      path: `${programs}:${Deno.env.get("PATH") ?? ""}`,
      env: {
        EMULATOR: `${qemu} -L ${root}`,
        EMULATED_ROOT: root,
        EMULATED_DENO: await fetchDeno(DENO, "aarch64"),
      },
    },
    testFiles(operands.length > 0 ? operands : FILES),
    NOT_EMULATED,
  );
  if (passed + failed === 0) throw new SetupError("no test was executed");
  console.log(`\n${passed} passed, ${failed} failed, ${ignored} left out on aarch64`);
  return failed === 0 ? 0 : 1;
});

/** The root of libraries for aarch64. apt-get checks their signatures. */
function libraries(): Promise<string> {
  const wanted = { suite: "bookworm", arch: "arm64", what: "libraries for aarch64", megabytes: 4 };
  return cached(
    "aarch64-libraries",
    (folder) =>
      fillFromArchive(wanted, folder, async (archive) => {
        for (const file of await archive.download(PACKAGES)) await unpack(file, folder, ["*"]);
      }),
  );
}
