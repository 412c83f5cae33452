// Runs cases in this process, and reports the start and the end of each in a line.

import { idle, silence } from "../registry/bed.ts";
import { disposeResult } from "../registry/calls.ts";
import { type Case, VALID } from "./cases.ts";
import { makePlan, PATIENCE_MS, type Plan } from "./lessons.ts";
import type { Choosable } from "./sample.ts";
import { verdict } from "./verdict.ts";
import { World } from "../registry/world.ts";
import { fakesLeft } from "../cm/fake.ts";
import * as recorder from "../../provider/recorder.ts";

/** What a run can do: all its cases. */
export interface ListReport {
  readonly cases: readonly Choosable[];
  readonly gaps: readonly string[];
}

/** The end of a case. */
export interface EndReport {
  readonly end: string;
  /** The name of the error; `"success"` if there was none. */
  readonly outcome: string;
  /** What is wrong with it. */
  readonly wrong: readonly string[];
}

/** What the parent reads. */
export type Report = ListReport | { readonly start: string } | EndReport;

/** What stands before a report: cases print lines of their own. */
export const MARK = "@@misuse ";

/** More than one case takes. What waits for events waits until its object is disposed. */
const TURN_MS = 20;

/** What is left may still be in use for so long. */
const QUIET_MS = 10;

/**
 * The program of a process: `plan FILE` writes what the cases are generated from, and reports them; `run FILE IDS` runs those
 * whose names are in a file.
 */
export async function probe(generate: (plan: Plan) => Case[]): Promise<never> {
  const [command, file, ids] = Deno.args as [string, string, string];
  if (command === "plan") {
    const plan = await makePlan((name) => report({ start: name }));
    await Deno.writeTextFile(file, JSON.stringify(plan));
    const cases = generate(plan).map(({ id, what }) => ({ id, ...what !== undefined && { what } }));
    report({ cases, gaps: plan.gaps });
  } else {
    const cases = new Map(
      generate(JSON.parse(await Deno.readTextFile(file))).map((one) => [one.id, one]),
    );
    await runCases((await Deno.readTextFile(ids)).split("\n").map((id) => cases.get(id)!));
  }
  Deno.exit(0);
}

async function runCases(cases: readonly Case[]): Promise<void> {
  const unhandled: string[] = [];
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unhandled.push(`unhandled: ${event.reason}`);
  });
  for (const one of cases) {
    report({ start: one.id });
    const { outcome, wrong } = await runCase(one);
    report({ end: one.id, outcome, wrong: [...wrong, ...unhandled.splice(0)] });
  }
}

function report(line: Report): void {
  const bytes = new TextEncoder().encode(`\n${MARK}${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/** How a case ended. */
export interface Attempt {
  readonly outcome: string;
  readonly wrong: string[];
  /** Closes the world once more. */
  readonly closeAgain: () => void;
}

/** Runs one case in a world of its own, and looks at what it left. */
async function runCase(one: Case): Promise<Omit<Attempt, "closeAgain">> {
  recorder.reset();
  const before = fakesLeft();
  const left = (): number => recorder.live() + fakesLeft() - before;
  const { outcome, wrong, closeAgain } = await attempt(one);
  if (one.leaves) await silence(QUIET_MS);
  else {
    await idle(left);
    // What failed when a wait ended has told nobody: the next close() does it. On a busy host waits end late.
    for (let tries = 0; tries < 3 && recorder.live() > 0; tries++) {
      closeAgain();
      await idle(left);
    }
    if (left() > 0) wrong.push(`${left()} objects are left`);
  }
  wrong.push(...recorder.violations().filter((violation) => !one.excused?.test(violation)));
  return { outcome, wrong };
}

/** Runs one case in a world of its own. */
export async function attempt({ id, run }: Case): Promise<Attempt> {
  const world = new World();
  const wrong: string[] = [];
  let outcome = "success";
  let error: unknown;
  const isValid = id.endsWith(VALID);
  const settled = (async () => disposeResult(await run(world)))().catch((thrown) => {
    outcome = String(thrown?.name ?? typeof thrown);
    error = thrown;
    if (!isValid) wrong.push(...verdict(thrown, id));
  });
  const turn = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  world.prepared.then(() => {
    timer = setTimeout(turn.resolve, isValid ? PATIENCE_MS : TURN_MS);
  });
  turn.promise.then(() => isValid && wrong.push("It does not return"));
  await Promise.race([settled, turn.promise]);
  clearTimeout(timer);
  if (isValid) wrong.push(...error === undefined ? [] : [`Its valid call fails: ${error}`]);
  closeAll(world, wrong);
  await settled;
  return { outcome, wrong, closeAgain: () => closeAll(world, wrong) };
}

/** A verb that failed once may fail when the world ends. It is closed again then. */
function closeAll(world: World, wrong: string[]): void {
  try {
    world.close();
  } catch (error) {
    wrong.push(...verdict(error));
    try {
      world.close();
    } catch (second) {
      wrong.push(`Cannot close again: ${second}`);
    }
  }
}
