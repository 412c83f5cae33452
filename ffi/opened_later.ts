import type { AnyFunction } from "./function_pointer.ts";

/** This many calls through a pointer take about as long as opening the function by its name. */
const OFTEN = 50;

/** Functions that open by name what is called only through a pointer so far. */
const waiting: Set<() => void> = new Set();

/**
 * A function that is called through a pointer until it has been called often. Deno compiles a call of its own for one that
 * is opened by its name, which takes 0.15 to 0.3 ms, and a program calls most functions a few times. Through a pointer each
 * call takes 0.6 to 4 us, and 25 us in the emulated guest.
 */
export function openedLater(pointer: AnyFunction, open: () => AnyFunction): AnyFunction {
  let call = pointer;
  let calls = 0;
  const openNow = (): void => {
    waiting.delete(openNow);
    call = open();
  };
  waiting.add(openNow);
  return (...args) => {
    if (call === pointer && ++calls > OFTEN) openNow();
    return call(...args);
  };
}

/** Opens now what would be opened later. */
export function openWaiting(): void {
  for (const open of waiting) open();
}
