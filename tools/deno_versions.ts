/** Runs the tests of the library by the lowest and the newest Deno, and checks that older ones are refused. */

import { isBelow, LOWEST_DENO } from "../ffi/platform.ts";
import { fetchDeno, versionOf } from "./deno_versions/deno.ts";
import { runRefused, runWith } from "./deno_versions/run.ts";
import { add, NONE } from "./tests/junit.ts";
import { ensureForLibraryTests } from "./tests/of_library.ts";
import { tool } from "./host/tool.ts";

/** The first of Deno 2, and the last one below the lowest. */
const REFUSED = ["2.0.6", "2.7.11"];

const HELP = `Runs the tests of the library that need no device by other versions of Deno.

  deno task long versions [VERSIONS...]

VERSIONS are numbers, or names such as latest. Without any, they are ${LOWEST_DENO}, which is the
lowest that works, the newest, and two older ones, which the library must refuse.
`;

await tool(HELP, {}, async (_options, operands) => {
  await ensureForLibraryTests();
  let counts = NONE;
  for (const name of operands.length > 0 ? operands : [...REFUSED, LOWEST_DENO, "latest"]) {
    const version = await versionOf(name);
    const deno = await fetchDeno(version);
    counts = add(
      counts,
      isBelow(version, LOWEST_DENO)
        ? await runRefused(deno, version, LOWEST_DENO)
        : await runWith(deno, version),
    );
  }
  console.log(`\n${counts.passed} passed, ${counts.failed} failed by other versions of Deno`);
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
});
