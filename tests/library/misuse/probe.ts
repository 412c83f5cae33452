// Runs cases of the matrix on the recorder, and reports the start and the end of each in a line. Its argument is an `Order`.

import { idle, silence } from "../registry/recorder_device.ts";
import { type Case, matrix, validCases } from "./cases.ts";
import { learnAll } from "./valid_calls.ts";
import { attempt, closeAll } from "./attempt.ts";
import { disposalOrders } from "./orders.ts";
import { sample } from "./sample.ts";
import { scenarios } from "./scenarios.ts";
import { workerCases } from "./workers/cases.ts";
import { fakesLeft } from "../cm/fake.ts";
import * as recorder from "../../provider/recorder.ts";

/** Which cases of the matrix a process runs. */
export interface Order {
  /** Draws a part of the matrix; all of it if left out. */
  readonly seed?: number | undefined;
  /** Only cases whose name matches this regular expression, and not the second one. */
  readonly only?: string;
  readonly without?: string;
  /** The file of what the valid calls show, which differs from run to run; the first process writes it. */
  readonly validCalls: string;
  /** The first one, and the one after the last. */
  readonly range: readonly [number, number];
}

/** What a process reports. */
export type Report =
  | { readonly generated: number; readonly chosen: number; readonly gaps: readonly string[] }
  | { readonly start: string }
  | {
    readonly end: string;
    /** The name of the error; `"success"` if there was none. */
    readonly outcome: string;
    /** What is wrong with it. */
    readonly wrong: readonly string[];
  };

/** What stands before a report: cases print lines of their own. */
export const MARK = "@@misuse ";

const ORDERS = 200;
/** What is left may still be in use for so long. */
const QUIET_MS = 20;

function report(line: Report): void {
  const bytes = new TextEncoder().encode(`\n${MARK}${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/** Who would share a device that a case has left open asks whether it still answers. That is after reset(), which has ended it. */
const ASKED = /^___ibv_query_port: context\d+ is used after its end$/;
let mayAsk = false;

/** Runs one case with objects of its own, and looks at what it left. */
async function runCase(one: Case): Promise<{ outcome: string; wrong: string[] }> {
  recorder.reset();
  const before = fakesLeft();
  const left = (): number => recorder.live() + fakesLeft() - before;
  const { outcome, wrong, set } = await attempt(one);
  if (one.leaves) await silence(QUIET_MS);
  else {
    await idle(left);
    // What failed when a wait ended has told nobody: the next close() does it. On a busy host waits end late.
    for (let tries = 0; tries < 3 && recorder.live() > 0; tries++) {
      closeAll(set, wrong);
      await idle(left);
    }
    if (left() > 0) wrong.push(`${left()} objects are left`);
  }
  const violations = recorder.violations().filter((one) => !mayAsk || !ASKED.test(one));
  wrong.push(...violations.filter((violation) => !one.excused?.test(violation)));
  mayAsk ||= one.leaves ?? false;
  return { outcome, wrong };
}

if (import.meta.main) {
  const { seed, only = "", without = "^$", validCalls, range }: Order = JSON.parse(Deno.args[0]!);
  const text = await Deno.readTextFile(validCalls) ||
    JSON.stringify(await learnAll((name) => report({ start: name })));
  await Deno.writeTextFile(validCalls, text);
  const { learned, left }: Awaited<ReturnType<typeof learnAll>> = JSON.parse(text);
  const generated = [
    ...validCases(),
    ...matrix(learned),
    ...disposalOrders(ORDERS),
    ...scenarios(),
    ...workerCases(learned),
  ];
  const twice = [...Map.groupBy(generated, ({ id }) => id)]
    .filter(([, { length }]) => length > 1).map(([id]) => `${id}: two cases have this name`);
  const chosen = (seed === undefined ? generated : sample(generated, seed))
    .filter(({ id }) => new RegExp(only).test(id) && !new RegExp(without).test(id));
  const gaps = [...left, ...twice];
  report({ generated: generated.length, chosen: chosen.length, gaps });
  const unhandled: string[] = [];
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unhandled.push(`unhandled: ${event.reason}`);
  });
  for (const one of chosen.slice(...range)) {
    report({ start: one.id });
    const { outcome, wrong } = await runCase(one);
    report({ end: one.id, outcome, wrong: [...wrong, ...unhandled.splice(0)] });
  }
  Deno.exit(0);
}
