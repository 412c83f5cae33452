// Runs cases of the matrix: probe.ts FIRST STEP SHARE TEXT takes every SHARE-th case whose name has the text, and runs the
// FIRST of them, FIRST + STEP, ... It reports the start and the end of each in a line.

import * as recorder from "../../provider/recorder.ts";
import * as exports from "../../../mod.ts";
import { readApi } from "./api.ts";
import { type Case, gaps, matrix, useModule } from "./cases.ts";
import { verdict } from "./verdict.ts";
import { idle, World } from "./world.ts";

/** The end of a case. */
export interface EndReport {
  readonly end: number;
  /** The name of the error; `"success"` if there was none. */
  readonly outcome: string;
  /** What is wrong with it. */
  readonly wrong: readonly string[];
}

/** What the parent reads. */
export type Report =
  | { readonly total: number; readonly gaps: readonly string[] }
  | { readonly start: number; readonly id: string }
  | EndReport;

function report(line: Report): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

async function runCase({ id, run }: Case): Promise<{ outcome: string; wrong: string[] }> {
  recorder.reset();
  const world = new World();
  const wrong: string[] = [];
  let outcome = "success";
  const settled = (async () => dispose(await run(world)))().catch((error) => {
    outcome = String(error?.name ?? typeof error);
    wrong.push(...verdict(error, id));
  });
  // What waits for events waits until its object is disposed.
  await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, 20))]);
  closeAll(world, wrong);
  await settled;
  await idle();
  const live = recorder.live();
  if (live > 0) wrong.push(`${live} objects are left`);
  wrong.push(...recorder.violations());
  return { outcome, wrong };
}

/** Closes a device that a case opened. */
function dispose(result: unknown): void {
  if (result instanceof exports.Context) result.close();
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

if (import.meta.main) {
  const [first, step, share] = Deno.args.map(Number) as [number, number, number];
  const text = Deno.args[3]!;
  useModule(exports);
  const api = await readApi();
  const cases = (await matrix(api)).filter(({ id, broad }, i) =>
    id.includes(text) && (broad || i % share === 0)
  );
  const unhandled: string[] = [];
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unhandled.push(`unhandled: ${event.reason}`);
  });
  report({ total: cases.length, gaps: gaps(api) });
  for (let i = first; i < cases.length; i += step) {
    report({ start: i, id: cases[i]!.id });
    const { outcome, wrong } = await runCase(cases[i]!);
    report({ end: i, outcome, wrong: [...wrong, ...unhandled.splice(0)] });
  }
  Deno.exit(0);
}
