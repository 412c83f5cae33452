/**
 * Latencies in numbers and in bars.
 *
 * @module
 */

/** Bars of a histogram. */
const BARS = 24;

/** The percentiles that are shown. */
export const PERCENTILES = [50, 90, 99, 99.9] as const;

/** Latencies from one to the next limit. */
export interface Bar {
  /** Smallest latency in microseconds. */
  readonly from: number;
  /** All latencies are below this one, in microseconds. */
  readonly to: number;
  /** Their number. */
  readonly count: number;
}

/** Latencies in numbers. All times are in microseconds. */
export interface Latency {
  /** Messages that were measured. */
  readonly count: number;
  /** The shortest. */
  readonly min: number;
  /** The longest. */
  readonly max: number;
  /** The mean. */
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
    bars: barsOf(sorted, at(99)),
  };
}

/** Few latencies are very long, so the last bar takes those above the 99th percentile. */
function barsOf(sorted: Float64Array, last: number): Bar[] {
  const width = roundUp(Math.max(last - sorted[0]!, 0.1) / (BARS - 1));
  const start = Math.floor(sorted[0]! / width) * width;
  const counts = new Array<number>(BARS).fill(0);
  for (const value of sorted) {
    counts[Math.min(BARS - 1, Math.floor((value - start) / width))]!++;
  }
  const used = counts.findLastIndex((count) => count > 0) + 1;
  return counts.slice(0, used).map((count, i) => ({
    from: start + i * width,
    to: i === BARS - 1
      ? Math.max(sorted.at(-1)!, start + (i + 1) * width)
      : start + (i + 1) * width,
    count,
  }));
}

/** The next of 1, 2, 5, 10, 20, 50... */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * unit).find((rounded) => rounded >= value)!;
}
