/** Judges mutants by tests that need a device: in guests, or for the guest's own code by starting one. */

import { ensureGuest } from "../../rxe/guest/parts.ts";
import { say } from "../../rxe/host/report.ts";
import { runInGuest } from "../guest/run.ts";
import { out } from "../host/paths.ts";
import { guestCount, testFiles } from "../tests/files.ts";
import { type Switched, withSwitches } from "./generate.ts";
import { judgeAll, type Judged, likeness, type Patience } from "./judge.ts";
import { Tree } from "./tree.ts";

/** How many test files each mutant asks for: a guest is slow. */
const MOST = 3;

/** Minutes in which guests may begin tests, and starts of guests may begin after that. */
const MINUTES = { devices: 12, starts: 4 };

/** The test of the guest's own code. It starts guests. */
const GUEST_TEST = "tests/project/guest_start_test.ts";

const FOLDER = "tests/device";

/** Device tests that use most of what has no device tests of its own. */
const GENERAL = ["queue_pair/ud_test.ts", "queue_pair/rc_test.ts", "lifetime/lifetime_test.ts"]
  .map((test) => `${FOLDER}/${test}`);

/** What one guest does. */
export interface Given {
  readonly files: Switched["files"];
  readonly mutants: readonly (readonly [id: string, mutant: Judged["mutant"]])[];
  readonly tests: readonly string[];
  readonly patience: Patience;
}

/**
 * The device tests whose paths are most like a file's. What they execute is not known before they run, which takes minutes
 * in a guest.
 */
export function deviceTestsOf(file: string): string[] {
  const like = testFiles([FOLDER])
    .map((test) => ({ test, likeness: likeness(test.slice(FOLDER.length), file) }))
    .filter(({ likeness }) => likeness > 0).sort((a, b) => b.likeness - a.likeness);
  return like.length === 0 ? GENERAL : like.slice(0, MOST).map(({ test }) => test);
}

export async function judgeWithDevice(mutants: readonly Judged["mutant"][]): Promise<Judged[]> {
  await ensureGuest();
  await Deno.mkdir(out, { recursive: true });
  const { ofGuest = [], others = [] } = Object.groupBy(
    mutants,
    ({ file }) => file.startsWith("rxe/") ? "ofGuest" : "others",
  );
  return [
    ...others.length === 0 ? [] : await judgeInGuests(others),
    ...ofGuest.length === 0 ? [] : await judgeGuest(ofGuest),
  ];
}

/** Judges mutants of the guest's own code, here: no guest starts another one. */
async function judgeGuest(mutants: readonly Judged["mutant"][]): Promise<Judged[]> {
  const switched = await withSwitches(mutants);
  using tree = new Tree(switched.files);
  return await judgeAll([tree], switched.mutants, [GUEST_TEST], patience(MINUTES.starts));
}

function patience(minutes: number): Patience {
  return { loading: 240, quick: 600, budget: 600, until: Date.now() + 60_000 * minutes };
}

/** Judges mutants in guests with rxe0 and stub0, which share the test files. */
async function judgeInGuests(mutants: readonly Judged["mutant"][]): Promise<Judged[]> {
  const switched = await withSwitches(mutants);
  const tests = wanted(mutants);
  const count = guestCount(tests.length);
  const ended = await Promise.all(Array.from({ length: count }, (_, i) =>
    judgeInGuest(i, {
      files: switched.files,
      mutants: [...switched.mutants],
      tests: tests.filter((_, j) => j % count === i),
      patience: patience(MINUTES.devices),
    })));
  // The order of the verdicts of all guests is the same.
  return ended[0]!.map(({ mutant }, i) => {
    const verdicts = ended.map((judged) => judged[i]!.verdict);
    const best = ["killed", "timed out", "survived", "not executed"] as const;
    return { mutant, verdict: best.find((verdict) => verdicts.includes(verdict))! };
  });
}

/** The test files that mutants ask for: those for most of them first. */
function wanted(mutants: readonly Judged["mutant"][]): string[] {
  const points = new Map<string, number>();
  for (const { file } of mutants) {
    for (const [i, test] of deviceTestsOf(file).entries()) {
      points.set(test, (points.get(test) ?? 0) + 1 / (i + 1));
    }
  }
  return [...points.keys()].sort((a, b) => points.get(b)! - points.get(a)!);
}

async function judgeInGuest(number: number, given: Given): Promise<Judged[]> {
  const [input, report] = [`${out}/mutants_given${number}.json`, `${out}/mutants${number}.json`];
  await Deno.writeTextFile(input, JSON.stringify(given));
  await Deno.remove(report).catch(() => {});
  const command = ["deno", "run", "--allow-all", "--no-check", "tools/mutants/in_guest.ts"];
  const timeout = 60 * (2 * MINUTES.devices + 5);
  const options = { stub: true, timeout };
  const status = await runInGuest([...command, input, report], options).catch((error: Error) => {
    say(error.message);
    return 1;
  });
  if (status === 0) return JSON.parse(await Deno.readTextFile(report));
  // What the host's tests have told is not lost.
  say(`mutants: the session in the guest ended with status ${status}, and judges nothing`);
  return given.mutants.map(([, mutant]) => ({ mutant, verdict: "not executed" }));
}
