import { toCaller } from "./caller.ts";
import { clock, timers } from "./clock.ts";

/**
 * How long the library runs before it looks whether the event loop has turned. It waits for the event loop after half as
 * long again: all loops of a program together take one and a half of this at most from a turn of the event loop.
 */
const SLICE_MS = 1;

/** The same for loops that read what others of the program may send. */
const READER_MS = 2 * SLICE_MS;

/**
 * Deno looks at sockets when nothing else is to be done, and else once in about 60 turns. So of as many turns that a loop
 * waits for, one waits for another thread, which leaves nothing to be done meanwhile.
 */
const TURNS_PER_REST = 2;

/** A call of another thread that does nothing. A timer of a millisecond is in its place until the system can be called. */
export const otherThread: { visit: () => Promise<unknown> } = {
  visit: () => new Promise<void>((resolve) => void timers.setTimeout(resolve, 0)),
};

/** More steps than a slice has time for: it ends although a clock stands still. */
const MOST_STEPS = 100_000;

/** When a turn of the event loop began. */
let start = -Infinity;
/** Steps since then. */
let steps = 0;
/** When the next one was asked for, in the time of {@linkcode clock.precise}. */
let asked = -Infinity;
/** Resolves in the next turn of the event loop, if one was asked for. */
let turn: Promise<void> | undefined;
/** Whether a loop waits for that turn because it may not continue. */
let isWaited = false;
/** Whether a reader was late in the last turn, and whether one is in this turn. */
let isBehind = false;
let willBeBehind = false;
/** Turns for which loops have waited. */
let waited = 0;
/**
 * What is read in each turn for which a loop has waited, before the loop goes on. While a loop runs, the event loop looks only
 * once in some turns at what other threads tell, and so at events: what the loop sends to a reader of the same process would
 * wait meanwhile.
 */
export const readers: Set<() => unknown> = new Set();

/**
 * Whether work that does not wait may go on in this turn of the event loop. A loop that reads from a device, a descriptor or
 * a peer asks before each step, and waits for {@linkcode nextTurn} if not: timers, signals and other connections run then.
 * One clock serves all loops of the program. After the wait a loop takes a step without asking.
 */
export function mayContinue(): boolean {
  return mayRun(isBehind ? 0 : SLICE_MS);
}

/** {@linkcode mayContinue} for a loop that empties a queue which others fill: it has more time than those. */
export function mayRead(): boolean {
  return mayRun(READER_MS);
}

function mayRun(ms: number): boolean {
  const passed = clock.now() - start;
  // The system's clock may be set back.
  if (passed >= 0 && passed < ms && ++steps < MOST_STEPS) return true;
  // The event loop may have turned since: the next turn, if it comes soon, tells.
  if (turn === undefined) nextTurn();
  else if (clock.precise() - asked >= ms / 2 || ++steps > 2 * MOST_STEPS) {
    isWaited = true;
    return false;
  }
  return true;
}

/** Says that the event loop has turned: it runs what another thread or a descriptor has called for. */
export function hasTurned(): void {
  start = clock.now();
  steps = 0;
}

/**
 * Waits for the next turn of the event loop.
 *
 * @param isLate Whether a reader that waits leaves something unread: in the next turn others take one step each, so that
 * they do not fill its queue faster than it reads.
 */
export function nextTurn(isLate = false): Promise<void> {
  if (isLate) willBeBehind = true;
  if (turn !== undefined) return turn;
  asked = clock.precise();
  return turn = new Promise((resolve) => {
    const end = (): void => {
      const inLoop = isWaited;
      turn = undefined;
      isWaited = false;
      isBehind = willBeBehind;
      willBeBehind = false;
      hasTurned();
      if (inLoop) readAll();
      resolve();
    };
    timers.setImmediate(() => {
      if (isWaited && ++waited % TURNS_PER_REST === 0) void otherThread.visit().then(end);
      else end();
    });
  });
}

function readAll(): void {
  for (const read of readers) {
    try {
      read();
    } catch {
      // The reader meets the error again when it reads after its wait.
    }
  }
}

/** A call that ends in a turn by itself. What it throws before it has a promise rejects, in a turn as well. */
export function asPromise<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    const reason = toCaller(error, asPromise);
    return inTurn(() => Promise.reject(reason));
  }
}

/**
 * Runs a call that a program may await in a loop. If this turn of the event loop has lasted long enough, the call ends in
 * the next one, whether it succeeds or fails. An error has the stack of the call.
 */
export async function inTurn<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toCaller(error, inTurn);
  } finally {
    if (!mayContinue()) await nextTurn();
  }
}
