/** Judges many mutants: those without a device on this host, the others in one guest. */

import { runInGuest } from "../guest/run.ts";
import { inProject, out } from "../host/paths.ts";
import { say, SetupError } from "../../rxe/host/report.ts";
import { checkTests, judge, type Judged } from "./judge.ts";
import type { Mutant } from "./mutant.ts";
import { Tree } from "./tree.ts";

/** Seconds after which a mutant hangs. Its tests take a few seconds on a busy machine. */
const SECONDS = { host: 30, device: 240 };

/** Seconds for all tests without a mutant, and for a whole guest. */
const ALL_SECONDS = 3600;

/** Judges mutants on this machine, several at a time. Each worker has its own copy of the project. */
export async function judgeHere(
  mutants: readonly Mutant[],
  jobs: number,
  tier: "host" | "device",
): Promise<Judged[]> {
  const queue = [...mutants];
  const judged: Judged[] = [];
  const work = async (tree: Tree): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const result = await judge(tree, mutant, SECONDS[tier]);
      judged.push(result);
      say(`${String(judged.length).padStart(4)}/${mutants.length} ${result.verdict} ${result.id}`);
    }
  };
  using stack = new DisposableStack();
  const trees = Array.from({ length: jobs }, () => stack.use(new Tree()));
  say("mutants: running the tests without a mutant");
  await checkTests(trees[0]!, mutants, ALL_SECONDS);
  await Promise.all(trees.map(work));
  return judged;
}

/** Judges mutants that need a device, all in one guest with rxe0 and stub0. */
export async function judgeInGuest(mutants: readonly Mutant[]): Promise<Judged[]> {
  const report = `${out}/mutants.json`;
  await Deno.mkdir(out, { recursive: true });
  await Deno.remove(report).catch(() => {});
  const session = inProject("tools/mutants/in_guest.ts");
  const ids = mutants.map(({ id }) => id);
  const command = ["deno", "run", "--allow-all", "--no-check", session, report, ...ids];
  const status = await runInGuest(command, { stub: true, timeout: ALL_SECONDS });
  if (status !== 0) throw new SetupError(`the session in the guest ended with status ${status}`);
  return JSON.parse(await Deno.readTextFile(report));
}
