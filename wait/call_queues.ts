/** Calls on other threads, of which few run at the same time: those with the same cause form a queue. */

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

const { callQueues } = state;
/** In the order in which they may run. */
const ORDER = ["program", "connection", "datagram"] as const;

/** Lets a call run, or returns what to wait for. `leave` has to follow. */
export function enter(cause: Cause, signal: AbortSignal | undefined): Promise<void> | undefined {
  const queue = callQueues[cause];
  if (mayRun(cause)) {
    queue.running++;
    return undefined;
  }
  if (isStrange(cause) && queue.waiting.size >= MAX_WAITING) {
    queue.waiting.reject(queue.waiting.first!, tooMany());
  }
  return queue.waiting.wait({}, signal);
}

/** A call has ended: one that waits may run. */
export function leave(cause: Cause): void {
  callQueues[cause].running--;
  ORDER.some(startNext);
}

function isStrange(cause: Cause): boolean {
  return cause !== "program";
}

function mayRun(cause: Cause): boolean {
  const total = ORDER.reduce((sum, each) => sum + callQueues[each].running, 0);
  return total < MAX_RUNNING && (!isStrange(cause) || callQueues[cause].running < MAX_STRANGERS);
}

/** Lets one that waits run. Among strangers the newest one goes first: one that has waited long may have gone. */
function startNext(cause: Cause): boolean {
  const queue = callQueues[cause];
  const next = isStrange(cause) ? queue.waiting.last : queue.waiting.first;
  if (next === undefined || !mayRun(cause)) return false;
  queue.running++;
  queue.waiting.resolve(next, undefined);
  return true;
}

function tooMany(): Error {
  return new Deno.errors.Busy(
    `Cannot start call for a stranger: more than ${MAX_WAITING} others wait`,
  );
}
