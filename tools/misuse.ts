/**
 * Calls everything in the public API in wrong ways, and counts what ends the process, hangs, or is not refused with a
 * useful error.
 */

import { isClean, type Outcome, runMatrix } from "../tests/library/misuse/run.ts";
import { SEED } from "../tests/library/misuse/sample.ts";
import { checkSanitizer, sanitizerEnv } from "./misuse/sanitize.ts";
import { positive, text } from "./host/options.ts";
import { say } from "./host/setup.ts";
import { tool } from "./host/tool.ts";

const HELP =
  `Calls everything in the public API in wrong ways, on a provider that records each verb.

  deno task long misuse [OPTIONS]

It fails if a case ends the process, hangs, throws an error that does not say what is wrong, or leaves
an object behind; if a valid call fails; and if something public has no valid call.

  --cases TEXT   only cases whose name matches that regular expression
  --seed N       only a part, drawn by this number; that of the tests is ${SEED}
  --sanitize     look for reads and writes beyond the memory that native code is given: AddressSanitizer
                 in the verbs of the cases that the tests draw
  --jobs N       how many processes at a time; the number of processors
`;

/** The recorder keeps a record of each of a million receives: minutes with the sanitizer. */
const LONG = "^listenUd: .*Depth is 2\\^20$";
/** How long a case may say nothing with the sanitizer, in milliseconds. */
const SLOW_MS = 200_000;

await tool(
  HELP,
  { cases: text, jobs: positive, sanitize: "flag", seed: positive },
  async (options) => {
    const { cases = "", sanitize, jobs = navigator.hardwareConcurrency } = options;
    // Cases take longer with the sanitizer.
    const seed = options.seed ?? (sanitize && cases === "" ? SEED : undefined);
    const start = performance.now();
    const env = sanitize ? await sanitizerEnv() : {};
    if (sanitize) await checkSanitizer(env);
    const outcome = await runMatrix({
      seed,
      only: cases,
      jobs,
      ...sanitize && { patience: SLOW_MS, without: LONG },
      env,
      progress: say,
    });
    report(outcome, performance.now() - start);
    return isClean(outcome) ? 0 : 1;
  },
);

function report(outcome: Outcome, time: number): void {
  const { wrong, ran, generated, outcomes } = outcome;
  for (const name of wrong) console.log(`wrong: ${name}\n`);
  for (const [name, count] of outcomes) console.log(`${String(count).padStart(7)} ${name}`);
  const seconds = Math.round(time / 1000);
  console.log(`\n${ran} cases of ${generated}, ${wrong.length} wrong, ${seconds} s`);
}
