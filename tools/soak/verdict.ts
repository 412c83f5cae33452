/** Whether something grows. */

/**
 * How much the least value of the last quarter may exceed that of the first one. What comes and goes does not show in the
 * least value of a quarter, what leaks does.
 */
export const LIMITS = {
  // V8 keeps compiled code and its feedback, and Workers leave free memory in pieces.
  resident: 48e6,
  // An object that is left by each call is more.
  heap: 2e6,
  // Memory that the kernel cannot reclaim. Address handles show there: the kernel does not count them.
  kernelMemory: 4e6,
  // All samples of a quarter can meet something that is open.
  kernelObjects: 2,
  stubObjects: 2,
  // Those of a Worker, and of 8 threads for calls that block, come and go.
  descriptors: 10,
  threads: 10,
} as const;

type Series = keyof typeof LIMITS;

/** What the process and the kernel hold at one time, and how often each kind of work was done until then. */
export interface Sample extends Readonly<Record<Series, number>> {
  readonly done: Readonly<Record<string, number>>;
}

/** Left out: code is compiled, and caches and pools fill. */
const WARM_UP = 0.2;
const FEWEST = 8;

/** The least value of a series in the first quarter after the start, and in the last one. */
export function trend(samples: readonly Sample[], name: Series): [first: number, last: number] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP)).map((sample) => sample[name]);
  const quarter = Math.floor(warm.length / 4);
  return [Math.min(...warm.slice(0, quarter)), Math.min(...warm.slice(-quarter))];
}

/** What is wrong with a run, in words. */
export function faultsOf(samples: readonly Sample[]): string[] {
  if (samples.length < FEWEST) return [`${samples.length} samples are too few to see growth`];
  const [middle, end] = [samples[samples.length >> 1]!.done, samples.at(-1)!.done];
  const stopped = Object.keys(end).filter((name) => end[name] === (middle[name] ?? 0));
  const grown = Object.entries(LIMITS).flatMap(([name, limit]) => {
    const [first, last] = trend(samples, name as Series);
    return last - first > limit ? [`${name} grows from ${first} to ${last}`] : [];
  });
  return [...stopped.map((name) => `${name} came to a stop`), ...grown];
}
