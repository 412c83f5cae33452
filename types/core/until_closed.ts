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
      return throwUnlessClosed(toCaller(error, untilClosed), resource, signal);
    }
    yield step;
  }
}

/** Throws the error of a wait, unless the wait has failed because its resource was closed. */
export function throwUnlessClosed(
  error: unknown,
  resource: Resource,
  signal: AbortSignal | undefined,
): void {
  if (isOpen(resource) || signal?.aborted) throw error;
}
