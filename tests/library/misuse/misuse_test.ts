// Misuse of everything in the public API, a part of the matrix: `deno task long misuse` runs all of it. A signal, a hang, an
// error that does not tell what is wrong, an object that is left, or a call that no program may make fails.

import { assert, assertEquals } from "@std/assert";
import { isClean, runMatrix } from "./run.ts";

/** The cases of one attribute are many: one of so many runs here. The others all run. */
const PART = 16;

Deno.test("Misuse of the public API is refused with a useful error or does no harm", async () => {
  const outcome = await runMatrix({
    program: new URL("probe.ts", import.meta.url),
    choose: (cases) => cases.filter(({ broad }, i) => broad || i % PART === 0),
  });
  const { gaps, crashes, hangs, wrong, ran, generated, outcomes } = outcome;
  const names = [...outcomes].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(`${ran} of ${generated} cases: ${names}`);
  assertEquals(gaps, [], "Every callable of the API needs a recipe");
  assertEquals({ crashes, hangs, wrong }, { crashes: [], hangs: [], wrong: [] });
  assert(isClean(outcome));
  assert(ran >= 3000, `only ${ran} cases ran`);
});
