/** Applies small defects to copies of the source, one at a time, and counts how many the tests notice. */

import { positive, text } from "./host/options.ts";
import { say, SetupError } from "./host/setup.ts";
import { tool } from "./host/tool.ts";
import { folderOf, quotas, shuffle } from "./mutants/draw.ts";
import { generate, nameOf, sourceFiles, withSwitches } from "./mutants/generate.ts";
import { judgeAll, type Judged } from "./mutants/judge.ts";
import { Tree } from "./mutants/tree.ts";

/** The part of a folder's mutants that the tests must notice. */
const LEAST = 0.8;

const HELP = `Applies small defects to copies of the source, and counts how many the tests notice.

  deno task long mutants [OPTIONS]

StrykerJS generates them, and the seed decides which are drawn. The work tree is not changed. The
tests that need no device judge them. It fails if they notice less than ${
  100 * LEAST
} % of a folder.

  --seed TEXT      any text, such as a commit; the date by default
  --count N        how many to draw; 600 by default
  --files PATTERN  only from files whose path matches this regular expression
  --jobs N         how many to try at a time; the number of processors by default
  --list           show the mutants and try none
  --help           show this text
`;

const OPTIONS = {
  count: positive,
  files: text,
  jobs: positive,
  list: "flag",
  seed: text,
} as const;

await tool(HELP, OPTIONS, async (options) => {
  const seed = options.seed ?? new Date().toISOString().slice(0, 10);
  const pattern = new RegExp(options.files ?? "");
  const mutants = await generate(sourceFiles().filter((file) => pattern.test(file)));
  if (mutants.length === 0) throw new SetupError("no file with mutants matches");
  const order = shuffle(mutants, seed);
  const sizes = new Map([...order].map(([folder, { length }]) => [folder, length]));
  const shares = quotas(sizes, options.count ?? 600);
  say(`mutants: ${mutants.length} in all; drawn with the seed "${seed}": ${[...shares].join(" ")}`);
  const drawn = [...order].flatMap(([folder, all]) => all.slice(0, shares.get(folder)));
  if (options.list) {
    for (const mutant of drawn) console.log(nameOf(mutant));
    return 0;
  }
  using stack = new DisposableStack();
  const switched = await withSwitches(drawn);
  const jobs = options.jobs ?? navigator.hardwareConcurrency;
  const trees = Array.from({ length: jobs }, () => stack.use(new Tree(switched.files)));
  return report(await judgeAll(trees, switched.mutants));
});

function report(judged: readonly Judged[]): number {
  const isKilled = ({ verdict }: Judged): boolean => verdict === "killed";
  for (const one of judged) {
    if (!isKilled(one)) console.log(`${one.verdict}: ${nameOf(one.mutant)}`);
  }
  const score = (of: readonly Judged[]): number => of.filter(isKilled).length / of.length;
  const percent = (of: readonly Judged[]): string => `${(100 * score(of)).toFixed(1)} %`;
  const folders = Map.groupBy(judged, ({ mutant }) => folderOf(mutant));
  for (const [folder, of] of folders) console.log(`${folder}: ${percent(of)} of ${of.length}`);
  console.log(
    `${judged.filter(isKilled).length} of ${judged.length} mutants killed (${percent(judged)})`,
  );
  return [...folders.values()].every((of) => score(of) >= LEAST) ? 0 : 1;
}
