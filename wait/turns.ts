import { visitThread } from "../ffi/libc.ts";
import { toCaller } from "../internal/caller.ts";
import { clock, timers } from "./clock.ts";
import { state } from "./state.ts";

/**
 * How long the library runs before it checks whether the event loop has turned. After half as long again it waits for
 * the event loop: so all loops of a program together take at most one and a half times this from a turn.
 */
const SLICE_MS = 1;

/** The same for loops that read what other parts of the program may send. */
const READER_MS = 2 * SLICE_MS;

/**
 * Deno looks at sockets when there is nothing else to do, and otherwise once in about 60 turns. So of as many turns
 * that a loop waits for, one waits for another thread, which leaves nothing to be done meanwhile.
 */
const TURNS_PER_REST = 2;

/**
 * The clock takes as long as a quick step. So it is looked at again after a sixteenth of the steps that the turn has had: they
 * take a sixteenth of the slice, if they are as quick as those before them. If they are not, few steps are late.
 */
const LOOKS = 16;
const MOST_UNLOOKED = 4;

/** The most readers of a turn. */
const MOST_READERS = 32;

/** More steps than a slice has time for: it ends although a clock stands still. */
const MOST_STEPS = 100_000;

const { turn, readers } = state;

/**
 * Whether work that does not wait may go on in this turn of the event loop. A loop that reads from a device, a descriptor or
 * a peer asks before each step, and waits for `nextTurn` if not: timers, signals and other connections run then.
 * One clock serves all loops of the program. After the wait a loop takes a step without asking.
 */
export function mayContinue(): boolean {
  return mayRun(turn.isBehind ? 0 : SLICE_MS);
}

/** `mayContinue` for a loop that empties a queue which others fill: it gets more time than they do. */
export function mayRead(): boolean {
  return mayRun(READER_MS);
}

function mayRun(ms: number): boolean {
  if (++turn.steps < turn.nextLook) return true;
  turn.nextLook = turn.steps + Math.min(Math.floor(turn.steps / LOOKS), MOST_UNLOOKED);
  const passed = clock.now() - turn.start;
  // The system's clock may be set back.
  if (passed >= 0 && passed < ms && turn.steps < MOST_STEPS) return true;
  // The event loop may have turned since: the next turn shows it, if it comes soon.
  if (turn.next === undefined) nextTurn();
  else if (clock.precise() - turn.asked >= ms / 2 || turn.steps > 2 * MOST_STEPS) {
    turn.isWaited = true;
    turn.nextLook = 0;
    return false;
  }
  return true;
}

/** Call it when the event loop has turned: when it runs a callback of another thread or a descriptor. */
export function hasTurned(): void {
  turn.start = clock.now();
  turn.steps = turn.nextLook = 0;
}

/**
 * Waits for the next turn of the event loop.
 *
 * @param isLate Whether a reader that waits leaves something unread: in the next turn others take one step each, so that
 * they do not fill its queue faster than it reads.
 */
export function nextTurn(isLate = false): Promise<void> {
  if (isLate) turn.willBeBehind = true;
  if (turn.next !== undefined) return turn.next;
  turn.asked = clock.precise();
  return turn.next = new Promise((resolve) => {
    const end = (): void => {
      beginTurn();
      resolve();
    };
    timers.setImmediate(() => {
      if (turn.isWaited && ++turn.waited % TURNS_PER_REST === 0) void rest().then(end);
      else end();
    });
  });
}

function beginTurn(): void {
  const inLoop = turn.isWaited;
  turn.next = undefined;
  turn.isWaited = false;
  turn.isBehind = turn.willBeBehind;
  turn.willBeBehind = false;
  hasTurned();
  if (inLoop) readSome();
}

/** Reads from loops whose turn it is, as many as fit into a slice: thousands may sleep. */
function readSome(): void {
  let left = Math.min(readers.size, MOST_READERS);
  for (const read of readers) {
    if (left-- === 0) return;
    readers.delete(read);
    readers.add(read);
    read();
  }
}

/** Waits for another thread, or for a timer of a millisecond where the system cannot be called. */
function rest(): Promise<unknown> {
  return visitThread() ?? new Promise<void>((resolve) => void timers.setTimeout(resolve, 0));
}

/**
 * A call that ends in a turn by itself. An error that it throws before it has a promise becomes a rejection, in a turn
 * as well.
 */
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
