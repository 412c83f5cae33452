/** Signals that end a wait. */

import { Deadline } from "../../wait/deadline.ts";

/** How long a wait may take, and what ends it earlier. */
export interface Wait {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** A signal, until it is disposed. */
export interface DisposableSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** A signal that aborts when the user presses Ctrl-C (SIGINT), or when the system ends the program (SIGTERM). */
export function untilInterrupted(): DisposableSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error("Interrupted"));
  const names = ["SIGINT", "SIGTERM"] as const;
  for (const name of names) Deno.addSignalListener(name, abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of names) Deno.removeSignalListener(name, abort);
    },
  };
}

/**
 * The signal of a wait. When its time is over, it aborts. `what` begins the message of its reason: "Nobody answered" becomes
 * "Nobody answered within 10 s".
 */
export function within({ seconds, signal }: Wait, what: string): DisposableSignal {
  return new Deadline(seconds * 1000, () => new Error(`${what} within ${seconds} s`), [signal]);
}
