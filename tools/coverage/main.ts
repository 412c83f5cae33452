/**
 * Prints for each verb where it is bound, what offers it and which test calls it, and writes `docs/verbs.md`. Fails on a
 * gap without a reason, and on a reason without a gap.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import { project } from "../host/paths.ts";
import { main, say } from "../host/report.ts";
import { type Coverage, covers, readCoverage } from "./coverage.ts";
import { render } from "./document.ts";
import type { Gap } from "./reasons.ts";
import { keepTraces } from "./tested.ts";
import { traceTests } from "./trace.ts";

const HELP = `Compares verbs.h with the tables of verbs, the classes and the tests.

  deno task coverage:verbs -- [OPTIONS]

  --trace         run all tests first, and note the verbs that they call in tests/coverage.json
  --keep          note the verbs of tests that ran with --preload=tests/trace.ts
  --quiet         print gaps and totals only
  --help          show this text
`;

const GAPS: readonly Gap[] = ["bound", "typed", "tested"];
const DOCUMENT = `${project}/docs/verbs.md`;

await main(async () => {
  const flags = parseArgs(Deno.args[0] === "--" ? Deno.args.slice(1) : Deno.args, {
    boolean: ["trace", "keep", "quiet", "help"],
  });
  if (flags.help) {
    console.log(HELP);
    return 0;
  }
  if (flags.trace) await traceTests();
  if (flags.trace || flags.keep) await keepTraces();
  const all = await readCoverage();
  if (!flags.quiet) all.forEach(printRow);
  await writeDocument(render(all));
  const faults = all.flatMap(faultsOf);
  faults.forEach((fault) => say(`error: ${fault}`));
  printTotals(all.filter(({ isInstalled }) => isInstalled));
  return faults.length === 0 ? 0 : 1;
});

async function writeDocument(text: string): Promise<void> {
  await Deno.mkdir(`${project}/docs`, { recursive: true });
  await Deno.writeTextFile(DOCUMENT, text);
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", DOCUMENT] }).output();
}

function printRow({ verb, boundIn, offeredBy, tested }: Coverage): void {
  const tests = Object.entries(tested).map(([place, file]) => `${place}: ${file}`);
  const parts = [boundIn ?? "not bound", offeredBy.join(", ") || "no class", tests.join(", ")];
  console.log(`${verb}\n  ${parts.filter((part) => part !== "").join("\n  ")}`);
}

function faultsOf(row: Coverage): string[] {
  // Nothing here can show a verb that the installed libibverbs does not have.
  if (!row.isInstalled) return [];
  const covered = covers(row);
  return GAPS.flatMap((gap) => {
    const reason = row.reasons[gap];
    if (covered[gap] && reason !== undefined) {
      return [`${row.verb} is ${gap}, but has a reason why not`];
    }
    return !covered[gap] && reason === undefined ? [`${row.verb} is not ${gap}`] : [];
  });
}

function printTotals(rows: readonly Coverage[]): void {
  const counts = GAPS.map((gap) => {
    const missing = rows.filter((row) => !covers(row)[gap]);
    const excused = missing.filter((row) => row.reasons[gap] !== undefined).length;
    return `${rows.length - missing.length + excused} of ${rows.length} ${gap}` +
      (excused > 0 ? ` (${excused} with a reason why not)` : "");
  });
  console.log(`\n${counts.join(", ")}`);
}
