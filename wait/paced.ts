import { state } from "./state.ts";
import { mayContinue, nextTurn } from "./turns.ts";

const { line } = state;

/**
 * Does work that keeps this thread busy, such as making or closing objects of a device. All such work waits in one
 * queue, and the event loop turns when about a millisecond has passed: a hundred connections that are closed at once do
 * not stop the program for as long as all of them take.
 */
export function paced<T>(work: () => T): Promise<T> {
  line.waiting++;
  const done = line.last.then(() => {
    // Now: the work may take longer than a turn may.
    if (--line.waiting > 0) void nextTurn();
    return work();
  });
  line.last = done.then(rest, rest);
  return done;
}

function rest(): Promise<void> | undefined {
  return line.waiting === 0 || mayContinue() ? undefined : nextTurn();
}
