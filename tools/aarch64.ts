/** Runs the tests that need no device by a real Deno for aarch64, which qemu emulates. */

import { exists, say, SetupError } from "./host/setup.ts";
import { NOT_EMULATED, partsOf } from "./aarch64/parts.ts";
import { ensurePrograms, ensureSystem } from "./aarch64/system.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import { add, NONE } from "./tests/junit.ts";
import { ensureForLibraryTests } from "./tests/of_library.ts";
import { stdArguments } from "./host/jsr.ts";
import { runTests } from "./host/other_deno.ts";
import { tool } from "./host/tool.ts";

const HELP = `Runs tests of tests/pure and tests/library on aarch64, emulated by qemu.

  deno task long aarch64 [OPTIONS] [FILES OR FOLDERS...]

Deno, libibverbs and the C library are those for aarch64. They are downloaded into the cache.
Without FILES it runs all tests but those of the tools.

  --short  only tests of layouts, structs, thunks and calls
`;

await tool(HELP, { short: "flag" }, async (options, operands) => {
  await ensureForLibraryTests();
  const emulators = (await pathWithEmulator()).split(":")
    .map((folder) => `${folder}/qemu-aarch64-static`);
  const programs = await ensurePrograms(emulators.find(exists)!, await ensureSystem());
  const start = performance.now();
  let counts = NONE;
  const deno = {
    command: [`${programs}/deno`],
    name: "deno-aarch64",
    options: await stdArguments(),
    path: `${programs}:${Deno.env.get("PATH") ?? ""}`,
  };
  for (const [name, files] of partsOf(operands, options.short ?? false)) {
    say(`\n== ${name}, on aarch64`);
    counts = add(counts, await runTests(deno, files, NOT_EMULATED));
  }
  const { passed, failed, ignored } = counts;
  if (passed + failed === 0) throw new SetupError("no test was executed");
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`\n${passed} passed, ${failed} failed, ${ignored} left out on aarch64, ${seconds} s`);
  return failed === 0 ? 0 : 1;
});
