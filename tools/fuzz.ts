/** Tries generated input: packets, texts of peers, hostile peers, captures, and address handles against C. */

import { positive } from "./host/options.ts";
import { say, SetupError } from "./host/setup.ts";
import { CAPTURES } from "./fuzz/captures.ts";
import { DATAGRAMS } from "./fuzz/datagrams.ts";
import { FRAMES } from "./fuzz/frames.ts";
import { SERVERS } from "./fuzz/servers.ts";
import { describe, type Target } from "./fuzz/target.ts";
import { TEXTS } from "./fuzz/texts.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { forUser, tool } from "./host/tool.ts";

const SECONDS = 30;
const PAIRS = 1_000_000;
const TEST = "tests/device/reply/reply_path_differential_test.ts";
/** For an emulated guest. */
const GUEST_SECONDS = 3000;

const AH: Target = {
  name: "ah",
  what: `in a guest: ${PAIRS} completions and GRHs, compared with ibv_init_ah_from_wc in C`,
  run: async ({ seed, rounds = PAIRS }) => {
    const options = ["--allow-all", "--no-check", "--filter=generated", ...await stdArguments()];
    const env = { IBVERBS_PAIRS: String(rounds), IBVERBS_SEED: String(seed) };
    const command = ["deno", "test", ...options, TEST];
    const status = await runInGuest(command, { timeout: GUEST_SECONDS, env });
    const finding = status === 0 ? undefined : "differs, or could not be compared: see above";
    return { cases: rounds, rounds, refused: 0, finding };
  },
};

const TARGETS: readonly Target[] = [
  ...[...TEXTS, ...CAPTURES, ...DATAGRAMS, ...FRAMES, ...SERVERS],
  AH,
];

const NAMES = TARGETS.map(({ name, what }) => `  ${name.padEnd(16)}  ${what}`).join("\n");

const HELP = `Tries the library, net and the command-line tool with generated input.

  deno task long fuzz [OPTIONS] [NAMES...]

NAMES are beginnings of names of targets; without any, all that need no guest are tried. A finding is
shown with the smallest input that was found, and with the command that repeats it; the status is
then 1.

  --seconds N  time for all targets together, ${SECONDS}
  --rounds N   try so many rounds of each target, however long it takes
  --seed N     where the sequence of inputs starts; random

${NAMES}
`;

const NUMBERS = { rounds: positive, seconds: positive, seed: positive };

await tool(HELP, NUMBERS, async (options, operands) => {
  const { rounds, seconds = SECONDS, seed = 1 + Math.floor(Math.random() * 999_999_999) } = options;
  const targets = choose(operands);
  say(`fuzz: seed ${seed}`);
  let findings = 0;
  for (const target of targets) {
    const { name } = target;
    const start = performance.now();
    const milliseconds = 1000 * seconds / targets.length;
    const outcome = await target.run({ seed, rounds, milliseconds });
    const share = (100 * outcome.refused / outcome.cases).toFixed(1);
    const time = ((performance.now() - start) / 1000).toFixed(1);
    say(`${name.padEnd(16)} ${outcome.cases} cases, ${share} % refused, ${time} s`);
    if (outcome.finding === undefined) continue;
    findings++;
    console.log(`\nfinding: ${name} ${describe(outcome.finding)}`);
    const again = `deno task long fuzz --seed ${seed} --rounds ${outcome.rounds} ${name}`;
    console.log(`again: ${forUser(again)}\n`);
  }
  console.log(`fuzz: ${findings} findings in ${targets.length} targets, seed ${seed}`);
  return findings === 0 ? 0 : 1;
});

function choose(names: readonly string[]): Target[] {
  const unknown = names.find((word) => !TARGETS.some(({ name }) => name.startsWith(word)));
  if (unknown !== undefined) throw new SetupError(`"${unknown}" is no target; see --help`);
  return TARGETS.filter((target) =>
    names.length === 0 ? target !== AH : names.some((word) => target.name.startsWith(word))
  );
}
