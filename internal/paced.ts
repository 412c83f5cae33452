import { mayContinue, nextTurn } from "./turns.ts";

/** Resolves when the next one in the line may begin. */
let last: Promise<unknown> = Promise.resolve();
/** How many stand in the line. */
let waiting = 0;

/**
 * Does work that keeps this thread, such as making or closing objects of a device. There is one line for all of it, and
 * the event loop turns when about a millisecond has passed: a hundred connections that are closed at once keep nobody
 * waiting for as long as all of them take.
 */
export function paced<T>(work: () => T): Promise<T> {
  waiting++;
  const done = last.then(() => {
    // Now: the work may take longer than a turn may.
    if (--waiting > 0) void nextTurn();
    return work();
  });
  last = done.then(rest, rest);
  return done;
}

function rest(): Promise<void> | undefined {
  return waiting === 0 || mayContinue() ? undefined : nextTurn();
}
