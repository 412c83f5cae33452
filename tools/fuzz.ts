/** Tries the library, net and the examples with generated input. */

import { positive } from "../internal/command_line.ts";
import { say, SetupError } from "./host/setup.ts";
import { FLOWS } from "./fuzz/flows.ts";
import { OBJECTS } from "./fuzz/objects.ts";
import { PACKETS } from "./fuzz/packets.ts";
import { PROGRAMS } from "./fuzz/programs.ts";
import { SERVERS } from "./fuzz/servers.ts";
import { STRUCTS } from "./fuzz/structs.ts";
import { describe, NONE, type Plan, type Target, wrongShare } from "./fuzz/target.ts";
import { TEXTS } from "./fuzz/texts.ts";
import { WIRE } from "./fuzz/wire.ts";
import { runInGuest } from "./guest/run.ts";
import { stdArguments } from "./host/jsr.ts";
import { forUser, tool } from "./host/tool.ts";

/** What CI has time for. */
const SECONDS = 30;

const PAIRS = 1_000_000;
const TEST = "tests/device/reply/reply_path_differential_test.ts";

/** For an emulated guest. */
const GUEST_SECONDS = 3000;

/** Completions and GRHs: C and ReplyPath give the same address, bit by bit. */
const AH: Target = {
  name: "ah",
  what: `in a guest: ${PAIRS} completions and GRHs, compared with ibv_init_ah_from_wc in C`,
  refused: NONE,
  inGuest: true,
  run: async ({ seed, rounds = PAIRS }) => {
    const options = ["--allow-all", "--no-check", "--filter=generated", ...await stdArguments()];
    const env = { IBVERBS_PAIRS: String(rounds), IBVERBS_SEED: String(seed) };
    const status = await runInGuest(["deno", "test", ...options, TEST], {
      timeout: GUEST_SECONDS,
      env,
    });
    const finding = status === 0 ? undefined : "differs, or could not be compared: see above";
    return { cases: rounds, rounds, refused: 0, finding };
  },
};

/** All targets, in the order in which they are tried. */
const TARGETS: readonly Target[] = [
  ...[...STRUCTS, ...TEXTS, ...FLOWS, ...WIRE, ...OBJECTS],
  ...[...PACKETS, ...SERVERS, ...PROGRAMS, AH],
];

const NAMES = TARGETS.map(({ name, what }) => `  ${name.padEnd(16)}  ${what}`).join("\n");

const HELP = `Tries the library, net and the examples with generated input.

  deno task long fuzz [OPTIONS] [NAMES...]

NAMES are beginnings of names of targets; without any, all that need no guest are tried. A finding is
shown with the smallest input that was found, and with the command that repeats it; the status is
then 1. It is a finding, too, if a target refuses another share of its inputs than it should.

  --seconds N  time for all targets together, ${SECONDS}
  --rounds N   try so many rounds of each target, however long it takes
  --seed N     where the sequence of inputs starts; random

${NAMES}
`;

const NUMBERS = { rounds: positive, seconds: positive, seed: positive };

await tool(HELP, NUMBERS, async ({ seconds = SECONDS, rounds, seed }, operands) => {
  const start = seed ?? 1 + Math.floor(Math.random() * 999_999_999);
  return await run(choose(operands), { seed: start, rounds, milliseconds: 1000 * seconds });
});

function choose(names: readonly string[]): Target[] {
  const unknown = names.find((word) => !TARGETS.some(({ name }) => name.startsWith(word)));
  if (unknown !== undefined) throw new SetupError(`"${unknown}" is no target; see --help`);
  return TARGETS.filter(({ name, inGuest = false }) =>
    names.length === 0 ? !inGuest : names.some((word) => name.startsWith(word))
  );
}

/** Tries targets one after the other. Each gets its part of the time. */
async function run(targets: readonly Target[], plan: Plan): Promise<number> {
  say(`fuzz: seed ${plan.seed}`);
  const sum = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const counts: string[] = [];
  let findings = 0;
  for (const target of targets) {
    const { name, weight = 1 } = target;
    const start = performance.now();
    const milliseconds = plan.milliseconds * weight / sum;
    const outcome = await target.run({ ...plan, milliseconds });
    const { cases, refused, rounds, finding = wrongShare(target, outcome) } = outcome;
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const share = (100 * refused / cases).toFixed(1);
    say(
      `${name.padEnd(16)} ${String(cases).padStart(9)} cases ${seconds.padStart(6)} s ` +
        `${share.padStart(5)} % refused`,
    );
    counts.push(`${name} ${cases} (${share} % refused)`);
    if (finding === undefined) continue;
    findings++;
    console.log(`\nfinding: ${name} ${describe(finding)}`);
    const again = `deno task long fuzz --seed ${plan.seed} --rounds ${rounds} ${name}`;
    console.log(`again: ${forUser(again)}\n`);
  }
  console.log(`fuzz: ${findings} findings, seed ${plan.seed}; cases: ${counts.join(", ")}`);
  return findings === 0 ? 0 : 1;
}
