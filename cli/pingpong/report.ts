/**
 * The result of a ping-pong.
 *
 * @module
 */

/** How long a ping-pong took. */
export interface Report {
  /** Bytes of all messages, in both directions. */
  readonly bytes: number;
  /** Messages sent. */
  readonly iters: number;
  /** Duration in microseconds. */
  readonly microseconds: number;
}

/** The last lines of a ping-pong, as the C tools print them. */
export function reportLines({ bytes, iters, microseconds }: Report): string[] {
  const seconds = (microseconds / 1e6).toFixed(2);
  const rate = (bytes * 8 / microseconds).toFixed(2);
  return [
    `${bytes} bytes in ${seconds} seconds = ${rate} Mbit/sec`,
    `${iters} iters in ${seconds} seconds = ${(microseconds / iters).toFixed(2)} usec/iter`,
  ];
}
