/** Latencies in numbers and in bars. */

/** The most bars of a histogram. */
const MOST_BARS = 24;

/** The percentiles that are shown. */
export const PERCENTILES = [50, 90, 99, 99.9] as const;

/** Latencies from one to the next limit. */
export interface Bar {
  /** Smallest latency in microseconds. */
  readonly from: number;
  /** All latencies are below this one, in microseconds. */
  readonly to: number;
  readonly count: number;
}

/** Latencies in numbers. All times are in microseconds. */
export interface Latency {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** The percentiles by their names, such as `p99`. */
  readonly percentiles: Readonly<Record<string, number>>;
  /** The bars; the last one has all latencies above its beginning. */
  readonly bars: readonly Bar[];
}

/** Sums up latencies in microseconds. */
export function latencyOf(values: Float64Array): Latency {
  const sorted = values.toSorted();
  const at = (percent: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * percent / 100))]!;
  const sum = sorted.reduce((sum, value) => sum + value, 0);
  return {
    count: sorted.length,
    min: sorted[0]!,
    max: sorted.at(-1)!,
    mean: sum / sorted.length,
    percentiles: Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, at(percent)])),
    // One latency in a hundred may be far away; the others need bars that are wide enough to be distinguished.
    bars: barsOf(sorted, Math.min(at(99), sorted[0]! + 3 * (at(90) - sorted[0]!))),
  };
}

/** Few latencies are very long, so the last bar has all that are above `last`. */
function barsOf(sorted: Float64Array, last: number): Bar[] {
  const width = roundUp(Math.max(last - sorted[0]!, 0.1) / (MOST_BARS - 2));
  const start = Math.floor(sorted[0]! / width) * width;
  const indexOf = (value: number): number => Math.floor((value - start) / width);
  const most = indexOf(last) + 1;
  const counts = new Array<number>(Math.min(most, indexOf(sorted.at(-1)!)) + 1).fill(0);
  for (const value of sorted) counts[Math.min(most, indexOf(value))]!++;
  return counts.map((count, i) => {
    const to = start + (i + 1) * width;
    return { from: start + i * width, to: i === most ? Math.max(sorted.at(-1)!, to) : to, count };
  });
}

/** The next of 1, 2, 5, 10, 20, 50... */
export function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * unit).find((rounded) => rounded >= value)!;
}
