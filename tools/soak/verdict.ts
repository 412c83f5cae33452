/** Whether something grows. */

/** What a process holds at one time, by the names of the series, and how often each kind of work was done until then. */
export interface Sample<S extends string> {
  readonly held: Readonly<Record<S, number>>;
  readonly done: Readonly<Record<string, number>>;
}

/**
 * How much the least value of the last quarter may exceed that of the first one, of each series. What comes and goes does not
 * show in the least value of a quarter, what leaks does.
 */
export type Limits<S extends string> = Readonly<Record<S, number>>;

/** Left out: code is compiled, and caches and pools fill. */
const WARM_UP = 0.2;
const FEWEST = 8;

/** Prints how each series went, what is wrong, and how much was done. Returns the exit status. */
export function report<S extends string>(
  samples: readonly Sample<S>[],
  limits: Limits<S>,
  others: readonly string[],
): number {
  for (const [name, limit] of entries(limits)) {
    console.log(`  ${name}: ${trend(samples, name).join(" then ")}; may grow by ${limit}`);
  }
  const faults = [...others, ...faultsOf(samples, limits)];
  for (const fault of faults) console.log(`fault: ${fault}`);
  console.log(`\n${JSON.stringify(samples.at(-1)?.done)}, ${faults.length} faults`);
  return faults.length === 0 ? 0 : 1;
}

/** The least value of a series in the first quarter after the start, and in the last one. */
function trend<S extends string>(samples: readonly Sample<S>[], name: S): [number, number] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP)).map(({ held }) => held[name]);
  const quarter = Math.floor(warm.length / 4);
  return [Math.min(...warm.slice(0, quarter)), Math.min(...warm.slice(-quarter))];
}

/** What is wrong with a run, in words. */
function faultsOf<S extends string>(samples: readonly Sample<S>[], limits: Limits<S>): string[] {
  if (samples.length < FEWEST) return [`${samples.length} samples are too few to see growth`];
  const [middle, end] = [samples[samples.length >> 1]!.done, samples.at(-1)!.done];
  const stopped = Object.keys(end).filter((name) => end[name] === (middle[name] ?? 0));
  const grown = entries(limits).flatMap(([name, limit]) => {
    const [first, last] = trend(samples, name);
    return last - first > limit ? [`${name} grows from ${first} to ${last}`] : [];
  });
  return [...stopped.map((name) => `${name} came to a stop`), ...grown];
}

function entries<S extends string>(limits: Limits<S>): [S, number][] {
  return Object.entries(limits) as [S, number][];
}
