/** Signals that end a wait. */

/** A signal, until it is disposed. */
export interface DisposableSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** A signal that aborts when the user presses Ctrl-C (SIGINT), or when the system ends the program (SIGTERM). */
export function untilInterrupted(): DisposableSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
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
 * A signal that aborts after some seconds. `what` begins the message of its reason: "Nobody answered" becomes "Nobody
 * answered within 10 s".
 */
export function within(seconds: number, what: string): DisposableSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error(`${what} within ${seconds} s`));
  const timer = setTimeout(abort, seconds * 1000);
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}
