import { clock } from "./clock.ts";
import { integer, snapshot } from "../internal/checks.ts";

/**
 * Options of calls that block the thread.
 *
 * @category Objects and lifetimes
 */
export interface TimeoutOptions {
  /**
   * The longest wait in milliseconds, from 0 to 2^31 - 1. 0 looks once and does not wait. The default, `Infinity`, waits
   * without end.
   */
  readonly timeout?: number | undefined;
}

/** Reads the time limit of options: see {@linkcode checkTimeout}. */
export function timeoutOf(options: TimeoutOptions = {}): number {
  return checkTimeout(snapshot(options, "options", ["timeout"]).timeout);
}

/**
 * Checks a time limit.
 *
 * @throws {TypeError} If it is neither an integer nor `Infinity`.
 * @throws {RangeError} If it is out of range.
 */
export function checkTimeout(timeout: number = Infinity): number {
  return timeout === Infinity ? timeout : integer(timeout, "timeout", 0, 0x7fff_ffff);
}

/** The end of a wait that begins now, in the time of {@linkcode clock.precise}. */
export function endOf(timeout: number): number {
  return timeout === Infinity ? timeout : clock.precise() + timeout;
}
