import { type AbortOptions, checkSignal } from "../../wait/abort.ts";
import { milliseconds, snapshot } from "../../internal/checks.ts";

/**
 * Options of a step that asks the network.
 *
 * @category Connections
 */
export interface ResolveOptions extends AbortOptions {
  /** The longest wait in milliseconds, 1 to 2^31 - 1. The default is 2000. */
  readonly timeout?: number | undefined;
}

/** Reads and checks options. `timeout` is `undefined` if it is left out. */
export function readResolveOptions(
  options: ResolveOptions,
): { timeout: number | undefined; signal: AbortSignal | undefined } {
  const { timeout, signal } = snapshot(options, "options", ["timeout", "signal"]);
  return {
    timeout: timeout === undefined ? undefined : milliseconds(timeout, "timeout"),
    signal: checkSignal(signal),
  };
}
