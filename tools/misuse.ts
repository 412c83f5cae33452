/**
 * Calls everything in the public API in wrong ways, and counts what ends the process, hangs, or is not refused with a
 * useful error.
 *
 * @module
 */

import { isClean, type Outcome, runMatrix } from "../tests/library/misuse/run.ts";
import { denoCommand } from "../rxe/host/deno_command.ts";
import { positive, readOnlyOptions, text } from "../rxe/host/options.ts";
import { main, say } from "../rxe/host/report.ts";

const HELP =
  `Calls everything in the public API in wrong ways, on a provider that records each verb.

  ${denoCommand()} task test:misuse [OPTIONS]

It fails if a case ends the process, hangs, throws an error that does not tell what is wrong, or leaves
an object behind.

  --cases TEXT   only cases whose name has that text
  --jobs N       how many processes at a time; the number of processors
  --list         show the names of the cases and run none
  --help         show this text
`;

const PROGRAM = new URL("../tests/library/misuse/probe.ts", import.meta.url);

await main(async () => {
  const options = readOnlyOptions(Deno.args, {
    cases: text,
    help: "flag",
    jobs: positive,
    list: "flag",
  });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const { cases = "", list, jobs = navigator.hardwareConcurrency } = options;
  const start = performance.now();
  const outcome = await runMatrix({
    program: PROGRAM,
    jobs,
    choose(all) {
      const chosen = all.filter(({ id }) => id.includes(cases));
      if (list) { for (const { id } of chosen) console.log(id); }
      return list ? [] : chosen;
    },
    progress: say,
  });
  if (list) return 0;
  report(outcome, performance.now() - start);
  return isClean(outcome) ? 0 : 1;
});

function report(outcome: Outcome, time: number): void {
  const { gaps, crashes, hangs, wrong, ran, generated, outcomes } = outcome;
  const show = (what: string, names: readonly string[]): void => {
    for (const name of names) console.log(`${what}: ${name}\n`);
  };
  show("not called", gaps);
  show("crash", crashes);
  show("hang", hangs);
  show("wrong", wrong);
  for (const [name, count] of outcomes) console.log(`${String(count).padStart(7)} ${name}`);
  const counts = [
    `${ran} cases of ${generated}`,
    `${crashes.length} crashes`,
    `${hangs.length} hangs`,
    `${wrong.length} unclassified`,
    `${gaps.length} not called`,
    `${Math.round(time / 1000)} s`,
  ];
  console.log(`\n${counts.join(", ")}`);
}
