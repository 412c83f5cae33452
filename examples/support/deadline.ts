/** A signal that aborts after that many seconds, with an error that tells what did not happen; it keeps nothing alive. */
export function deadline(seconds: number, what: string): AbortSignal {
  const controller = new AbortController();
  const error = new Error(`${what} within ${seconds} s`);
  Deno.unrefTimer(setTimeout(() => controller.abort(error), seconds * 1000));
  return controller.signal;
}
