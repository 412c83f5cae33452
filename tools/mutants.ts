/** Applies small defects to copies of the source, one at a time, and counts how many the tests notice. */

import { oneOf, positive, text } from "../internal/command_line.ts";
import { say, SetupError } from "../rxe/host/report.ts";
import { tool } from "./host/tool.ts";
import { judgeWithDevice } from "./mutants/device.ts";
import { folderOf, mostSurvivors, quotas, shuffle } from "./mutants/draw.ts";
import { generate, type Mutant, sourceFiles, withSwitches } from "./mutants/generate.ts";
import { hostTests, judgeAll, type Judged, nameOf, type Verdict } from "./mutants/judge.ts";
import { changeOf, readTriage, stale } from "./mutants/triage.ts";
import { Tree } from "./mutants/tree.ts";

const HELP = `Applies small defects to copies of the source, and counts how many the tests notice.

  deno task long mutants [OPTIONS]

StrykerJS generates them, and the seed decides which are drawn. The work tree is not changed. It
fails if less than 92 % are noticed (80 % without a device), or less than 85 % of a folder, or if
one that is not noticed stands not in tools/mutants/triage.txt.

  --seed TEXT      any text, such as a commit; the date by default
  --count N        how many to draw; 600 by default
  --files PATTERN  only from files whose path matches this regular expression
  --tier host      only tests that need no device
  --sample         for small numbers: fails only if hardly ever a good suite would
  --jobs N         how many to try at a time; the number of processors by default
  --list           show the mutants and try none
  --help           show this text
`;

/** How a mutant ends that no test notices. */
const SURVIVED: readonly Verdict[] = ["survived", "not executed"];

/** The part of the mutants that the tests must notice: in all, in each folder, and without a device. */
const LEAST = { all: 0.92, folder: 0.85, host: 0.8 };

const OPTIONS = {
  count: positive,
  files: text,
  jobs: positive,
  list: "flag",
  sample: "flag",
  seed: text,
  tier: oneOf("host", "all"),
} as const;

await tool(HELP, OPTIONS, async (options) => {
  const seed = options.seed ?? new Date().toISOString().slice(0, 10);
  const pattern = new RegExp(options.files ?? "");
  const mutants = await generate(sourceFiles().filter((file) => pattern.test(file)));
  if (mutants.length === 0) throw new SetupError("no file with mutants matches");
  checkTriage(mutants, pattern);
  const order = shuffle(mutants, seed);
  const sizes = new Map([...order].map(([folder, { length }]) => [folder, length]));
  const shares = quotas(sizes, options.count ?? 600);
  say(`mutants: ${mutants.length} in all; drawn with the seed "${seed}": ${[...shares].join(" ")}`);
  const drawn = [...order].flatMap(([folder, all]) => all.slice(0, shares.get(folder)));
  if (options.list) {
    for (const mutant of drawn) console.log(nameOf(mutant));
    return 0;
  }
  const judged = await judge(drawn, options.jobs ?? navigator.hardwareConcurrency);
  if (options.tier === "host") return report(judged, LEAST.host, options.sample);
  return report(await withDevice(judged), LEAST.all, options.sample);
});

function checkTriage(mutants: readonly Mutant[], pattern: RegExp): void {
  const names = stale(readTriage(), mutants).filter((name) => pattern.test(name.split(":")[0]!));
  if (names.length === 0) return;
  throw new SetupError(`rows of tools/mutants/triage.txt fit no mutant:\n${names.join("\n")}`);
}

/** Judges the first mutants of each folder. */
async function judge(mutants: readonly Mutant[], jobs: number): Promise<Judged[]> {
  using stack = new DisposableStack();
  const switched = await withSwitches(mutants);
  const trees = Array.from({ length: jobs }, () => stack.use(new Tree(switched.files)));
  return await judgeAll(trees, switched.mutants, hostTests());
}

/** Tries the survivors once more, with the tests that need a device. */
async function withDevice(judged: readonly Judged[]): Promise<Judged[]> {
  const open = judged.filter(({ verdict }) => SURVIVED.includes(verdict));
  const again = open.length === 0 ? [] : await judgeWithDevice(open.map(({ mutant }) => mutant));
  const noticed = again.filter(({ verdict }) => !SURVIVED.includes(verdict));
  const names = new Set(noticed.map(({ mutant }) => JSON.stringify(mutant)));
  return [...judged.filter(({ mutant }) => !names.has(JSON.stringify(mutant))), ...noticed];
}

function report(judged: readonly Judged[], least: number, sample = false): number {
  const triage = readTriage();
  const survivors = judged.filter(({ verdict }) => SURVIVED.includes(verdict));
  for (const { mutant, verdict } of survivors) {
    console.log(`${verdict}: ${nameOf(mutant)} (${triage.get(changeOf(mutant)) ?? "NO REASON"})`);
  }
  const score = (of: readonly Judged[]): number =>
    1 - survivors.filter((one) => of.includes(one)).length / of.length;
  const folders = Map.groupBy(judged, ({ mutant }) => folderOf(mutant));
  for (const [folder, of] of folders) {
    console.log(`${folder}: ${percent(score(of))} of ${of.length}`);
  }
  const killed = judged.length - survivors.length;
  console.log(`${killed} of ${judged.length} mutants killed (${percent(score(judged))})`);
  if (sample) {
    const most = mostSurvivors(judged.length, 1 - least);
    console.log(`${survivors.length} survived; more than ${most} are no accident`);
    return survivors.length > most ? 1 : 0;
  }
  const good = score(judged) >= least &&
    [...folders.values()].every((of) => score(of) >= LEAST.folder) &&
    survivors.every(({ mutant }) => triage.has(changeOf(mutant)));
  return good ? 0 : 1;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
