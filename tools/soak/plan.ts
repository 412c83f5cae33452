/** What a soak run does, and how fast. */

/** Operations in a second, by activity. */
export interface Rates {
  /** Address handles made. */
  readonly ahs: number;
  /** RWQ indirection tables made. */
  readonly tables: number;
  /** Datagrams: requests and their replies. */
  readonly datagrams: number;
  /** Sends and writes of reliable connections. */
  readonly connected: number;
  /** Queue pairs made beside those of the traffic. */
  readonly queuePairs: number;
  /** Changes of addresses. */
  readonly addresses: number;
  /** Asynchronous calls that are aborted. */
  readonly aborts: number;
  /** Workers started. */
  readonly workers: number;
}

/** The plan of a run. */
export interface Plan {
  readonly minutes: number;
  readonly rates: Rates;
  /** Seconds between two samples. */
  readonly interval: number;
}

/**
 * In 60 minutes, these rates make 12 % more than 1 000 000 address handles, 100 000 tables and 10 000 000 messages. They
 * use less than half of a processor of an emulated guest.
 */
export const RATES: Rates = {
  ahs: 315,
  tables: 32,
  datagrams: 2900,
  connected: 250,
  queuePairs: 2,
  addresses: 1,
  aborts: 1,
  workers: 0.05,
};

/** Samples are near enough to each other that each quarter of a short run has some. */
export function intervalOf(minutes: number): number {
  return Math.min(10, Math.max(2, minutes * 2));
}
