/**
 * Applies small defects to copies of the source, one at a time, and counts how many the tests notice.
 *
 * @module
 */

import { ensureGuest } from "../rxe/guest/parts.ts";
import { denoCommand } from "../rxe/host/deno_command.ts";
import { oneOf, positive, readOptions } from "../rxe/host/options.ts";
import { main, say, SetupError } from "../rxe/host/report.ts";
import { ALL } from "./mutants/lists.ts";
import { faultsOf, type Mutant, needsDevice } from "./mutants/mutant.ts";
import { judgeHere, judgeInGuest } from "./mutants/run.ts";
import { readInProject } from "./mutants/tree.ts";

const HELP = `Applies small defects to copies of the source, and counts how many the tests notice.

  ${denoCommand()} task long mutants [OPTIONS] [NAMES...]

NAMES are beginnings of names of mutants; without any, all are tried. The work tree is not changed.
It fails if less than 95 % are noticed, or one is not and has no reason in the list.

  --every N           only each Nth of them: a short form
  --tier host|device  only mutants whose tests need no device, or only the others
  --jobs N            how many to try at a time on this host; the number of processors
  --list              show the mutants and try none
  --help              show this text
`;

/** The part of the mutants that the tests must notice. */
const LEAST = 0.95;

await main(async () => {
  const { options, operands } = readOptions(Deno.args, {
    every: positive,
    help: "flag",
    jobs: positive,
    list: "flag",
    tier: oneOf("host", "device"),
  });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const faults = faultsOf(ALL, readInProject);
  if (faults.length > 0) throw new SetupError(`the list is wrong:\n${faults.join("\n")}`);
  const every = options.every ?? 1;
  const chosen = choose(operands, options.tier).filter((_, i) => i % every === 0);
  if (options.list) {
    for (const { id, file, wrong } of chosen) console.log(`${id} (${file}): ${wrong}`);
    return 0;
  }
  return await run(chosen, options.jobs ?? navigator.hardwareConcurrency);
});

function choose(names: readonly string[], tier: "host" | "device" | undefined): Mutant[] {
  const chosen = ALL.filter((mutant) =>
    (names.length === 0 || names.some((name) => mutant.id.startsWith(name))) &&
    (tier === undefined || needsDevice(mutant) === (tier === "device"))
  );
  if (chosen.length === 0) throw new SetupError("no mutant has such a name");
  return chosen;
}

async function run(mutants: readonly Mutant[], jobs: number): Promise<number> {
  const [onDevice, onHost] = [true, false].map((device) =>
    mutants.filter((mutant) => needsDevice(mutant) === device)
  ) as [Mutant[], Mutant[]];
  if (onDevice.length > 0) await ensureGuest();
  const judged = [
    ...onHost.length === 0 ? [] : await judgeHere(onHost, jobs, "host"),
    ...onDevice.length === 0 ? [] : await judgeInGuest(onDevice),
  ];
  const broken = judged.filter(({ verdict }) => verdict === "no program").map(({ id }) => id);
  if (broken.length > 0) throw new SetupError(`no programs: ${broken.join(", ")}`);
  const alive = new Set(judged.filter(({ verdict }) => verdict === "survived").map(({ id }) => id));
  const survivors = mutants.filter(({ id }) => alive.has(id));
  for (const { id, file, wrong, reason } of survivors) {
    say(
      `survived: ${id} (${file}): ${wrong} ${reason === undefined ? "NO REASON" : `(${reason})`}`,
    );
  }
  const killed = mutants.length - survivors.length;
  const score = killed / mutants.length;
  console.log(
    `${killed} of ${mutants.length} mutants killed (${(100 * score).toFixed(1)} %), ` +
      `${survivors.length} survived`,
  );
  return score < LEAST || survivors.some(({ reason }) => reason === undefined) ? 1 : 0;
}
