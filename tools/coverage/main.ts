/**
 * Prints for each verb where it is bound, what offers it and which test calls it, and writes `docs/verbs.md`. Fails on a
 * gap without a reason, and on a reason without a gap.
 *
 * @module
 */

import { readOptions } from "../../rxe/host/options.ts";
import { ensurePackages, type Need } from "../../rxe/host/packages.ts";
import { project } from "../host/paths.ts";
import { main, say, SetupError } from "../../rxe/host/report.ts";
import { type Coverage, covers, readCoverage } from "./coverage.ts";
import { render } from "./document.ts";
import type { Gap } from "./reasons.ts";
import { keepTraces } from "./tested.ts";
import { traceTests } from "./trace.ts";

const HELP = `Compares verbs.h with the tables of verbs, the classes and the tests.

  deno task generate verbs [OPTIONS]

  --check         change nothing; fail if docs/verbs.md is not up to date
  --trace         run all tests first, and note the verbs that they call in tests/coverage.json
  --keep          note the verbs of tests that ran with --preload=tests/trace.ts
  --quiet         print gaps and totals only
  --help          show this text
`;

const GAPS: readonly Gap[] = ["bound", "typed", "tested"];
const DOCUMENT = `${project}/docs/verbs.md`;

const reason = "verbs.h is read with its preprocessor";
const NEEDS: Need[] = [
  { package: "gcc", file: "/usr/bin/gcc", reason },
  { package: "libc6-dev", file: "/usr/include/stdio.h", reason },
  { package: "libibverbs-dev", file: "/usr/include/infiniband/verbs.h", reason },
];

await main(async () => {
  const { options, operands } = readOptions(Deno.args, {
    check: "flag",
    trace: "flag",
    keep: "flag",
    quiet: "flag",
    help: "flag",
  });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  if (operands.length > 0) throw new SetupError(`unknown argument ${operands[0]}; see --help`);
  await ensurePackages(NEEDS);
  if (options.trace) await traceTests();
  if (options.trace || options.keep) await keepTraces();
  const all = await readCoverage();
  if (!options.quiet) all.forEach(printRow);
  const faults = all.flatMap(faultsOf);
  const document = await formatted(render(all));
  if (!options.check) await Deno.writeTextFile(DOCUMENT, document);
  else if (document !== await Deno.readTextFile(DOCUMENT)) {
    faults.push("docs/verbs.md is not up to date: deno task generate verbs writes it");
  }
  faults.forEach((fault) => say(`error: ${fault}`));
  printTotals(all.filter(({ isInstalled }) => isInstalled));
  return faults.length === 0 ? 0 : 1;
});

async function formatted(markdown: string): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--ext=md", "-"],
    cwd: project,
    stdin: "piped",
    stdout: "piped",
  });
  await using child = command.spawn();
  const [{ stdout }] = await Promise.all([
    child.output(),
    new Blob([markdown]).stream().pipeTo(child.stdin),
  ]);
  return new TextDecoder().decode(stdout);
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
