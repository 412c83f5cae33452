/** How fast counters grow. */

/** Values of counters by their names. */
export type Counters = ReadonlyMap<string, bigint>;

/** Counters of the InfiniBand specification that count data in words of 4 bytes. */
const WORDS: ReadonlySet<string> = new Set([
  "port_xmit_data",
  "port_rcv_data",
  "unicast_xmit_data",
  "unicast_rcv_data",
  "multicast_xmit_data",
  "multicast_rcv_data",
]);
const BITS_OF_WORD = 32;
const PREFIXES = ["", "k", "M", "G", "T", "P"];

export interface CounterRate {
  readonly name: string;
  readonly value: bigint;
  /** How much it grew since the moment before; undefined at first, and after it was reset. */
  readonly delta: bigint | undefined;
  readonly rate: number | undefined;
}

/** Compares two moments that are some seconds apart. */
export function ratesOf(
  before: Counters | undefined,
  now: Counters,
  seconds: number,
): CounterRate[] {
  return [...now].map(([name, value]) => {
    const old = before?.get(name);
    if (old === undefined || value < old) return { name, value, delta: undefined, rate: undefined };
    const delta = value - old;
    return { name, value, delta, rate: Number(delta) / seconds };
  });
}

/** A rate with its unit, such as `1.25 Gb/s` of data or `950 /s` of anything else; empty if it is not known. */
export function rateText({ name, rate }: CounterRate): string {
  if (rate === undefined) return "";
  return WORDS.has(name) ? `${scaled(rate * BITS_OF_WORD)}b/s` : `${scaled(rate)}/s`;
}

/** A number of three digits with a prefix, such as `1.25 G`. */
function scaled(value: number): string {
  let power = 0;
  // Rounding may give 1000.
  while (Number(value.toPrecision(3)) >= 1000 && power < PREFIXES.length - 1) {
    value /= 1000;
    power++;
  }
  return `${value === 0 ? "0" : Number(value.toPrecision(3))} ${PREFIXES[power]}`;
}
