import { toCaller } from "../../internal/caller.ts";
import { isOpen, type Resource } from "./resource.ts";

/**
 * What a resource delivers, for `for await`. Closing the resource ends the loop, also while the loop waits. A signal
 * that aborts during the wait and all other errors go to the loop.
 */
export async function* untilClosed<T>(
  resource: Resource,
  signal: AbortSignal | undefined,
  next: () => Promise<T>,
): AsyncGenerator<T, void, void> {
  while (isOpen(resource)) {
    signal?.throwIfAborted();
    let step: T;
    try {
      step = await next();
    } catch (error) {
      if (orClosed(toCaller(error, untilClosed), resource, signal) === CLOSED) return;
    }
    yield step!;
  }
}

/** The result of a wait that has ended because its resource was closed. */
export const CLOSED: unique symbol = Symbol("closed");

/** The outcome of a wait that has failed: `CLOSED`, or the error is thrown. */
export function orClosed(
  error: unknown,
  resource: Resource,
  signal: AbortSignal | undefined,
): typeof CLOSED {
  if (isOpen(resource) || signal?.aborted) throw error;
  return CLOSED;
}
