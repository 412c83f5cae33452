// Misuse of everything in the public API, a part of the matrix: `deno task long misuse` runs all of it. A signal, a hang, an
// error that does not say what is wrong, an object that is left, a call that no program may make, or a valid call that fails
// fails.

import { assert, assertEquals } from "@std/assert";
import { isClean, runMatrix } from "./run.ts";
import { SEED } from "./sample.ts";

Deno.test("Misuse of the public API is refused with a useful error or does no harm", async () => {
  const outcome = await runMatrix({ seed: SEED });
  const { wrong, ran, generated, outcomes } = outcome;
  const names = [...outcomes].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(`${ran} of ${generated} cases: ${names}`);
  console.log(`again: deno task long misuse --seed ${SEED}`);
  assertEquals(wrong, []);
  assert(isClean(outcome));
});
