/**
 * Runs the tests that need no device by a real Deno for aarch64, which qemu emulates.
 *
 * @module
 */

import { SetupError } from "../rxe/host/report.ts";
import { exists } from "../rxe/host/shell.ts";
import { partsOf } from "./aarch64/parts.ts";
import { ensurePrograms } from "./aarch64/programs.ts";
import { runPart } from "./aarch64/run.ts";
import { ensureSystem } from "./aarch64/system.ts";
import { pathWithEmulator } from "./tests/emulator.ts";
import { add, NONE } from "./tests/junit.ts";
import { ensureForLibraryTests } from "./tests/of_library.ts";
import { tool } from "./host/tool.ts";

const HELP = `Runs tests of tests/pure and tests/library on aarch64, emulated by qemu.

  deno task long aarch64 [OPTIONS] [FILES OR FOLDERS...]

Deno, libibverbs and the C library are those for aarch64. They are downloaded into the cache.
Without FILES it runs all tests but those of the tools.

  --short  only tests of layouts, structs, thunks and calls
  --help   show this text
`;

await tool(HELP, { short: "flag" }, async (options, operands) => {
  const parts = partsOf(operands, options.short ?? false);
  await ensureForLibraryTests();
  const programs = await ensurePrograms(await emulator(), await ensureSystem());
  const start = performance.now();
  let counts = NONE;
  for (const part of parts) counts = add(counts, await runPart(part, programs));
  const { passed, failed, ignored } = counts;
  if (passed + failed === 0) throw new SetupError("no test was executed");
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`\n${passed} passed, ${failed} failed, ${ignored} left out on aarch64, ${seconds} s`);
  return failed === 0 ? 0 : 1;
});

async function emulator(): Promise<string> {
  const paths = (await pathWithEmulator()).split(":").map((folder) =>
    `${folder}/qemu-aarch64-static`
  );
  return paths.find(exists)!;
}
