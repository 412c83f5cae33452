/** Calls on other threads, of which few run at the same time: calls with the same cause are a lane. */

import { type Cause, state } from "./state.ts";

/**
 * How many calls run at the same time. Deno has 32 threads for native calls and files together, so calls that wait for
 * peers that do not answer must leave some of them free.
 */
const MAX_RUNNING = 8;
/** How many of them can be for strangers of one kind: some are left for the program, whatever strangers do. */
const MAX_STRANGERS = 3;
/** How many calls for strangers of one kind wait. */
const MAX_WAITING = 256;

const { lanes } = state;
/** In the order in which they may run. */
const ORDER = ["program", "connection", "datagram"] as const;

/** Lets a call run, or returns what to wait for. `leave` has to follow. */
export function enter(cause: Cause, signal: AbortSignal | undefined): Promise<void> | undefined {
  const lane = lanes[cause];
  if (mayRun(cause)) {
    lane.running++;
    return undefined;
  }
  if (isStrange(cause) && lane.waiting.size >= MAX_WAITING) {
    lane.waiting.reject(lane.waiting.first!, tooMany());
  }
  return lane.waiting.wait({}, signal);
}

/** A call has ended: one that waits may run. */
export function leave(cause: Cause): void {
  lanes[cause].running--;
  ORDER.some(startNext);
}

function isStrange(cause: Cause): boolean {
  return cause !== "program";
}

function mayRun(cause: Cause): boolean {
  const total = ORDER.reduce((sum, each) => sum + lanes[each].running, 0);
  return total < MAX_RUNNING && (!isStrange(cause) || lanes[cause].running < MAX_STRANGERS);
}

/** Lets one that waits run. Among strangers the newest one goes first: one that has waited long may have gone. */
function startNext(cause: Cause): boolean {
  const lane = lanes[cause];
  const next = isStrange(cause) ? lane.waiting.last : lane.waiting.first;
  if (next === undefined || !mayRun(cause)) return false;
  lane.running++;
  lane.waiting.resolve(next, undefined);
  return true;
}

function tooMany(): Error {
  return new Deno.errors.Busy(
    `Cannot start call for a stranger: more than ${MAX_WAITING} others wait`,
  );
}
