/** How much a round has to do. */
export interface Plan {
  /** Operations of a part. */
  readonly count: number;
  /** Parts. The result is the middle one. */
  readonly parts: number;
}

/** Nanoseconds of one operation in the middle part. */
export function middlePart({ count, parts }: Plan, work: (count: number) => void): number {
  const taken: number[] = [];
  for (let i = 0; i < parts; i++) {
    const start = performance.now();
    work(count);
    taken.push(performance.now() - start);
  }
  return middle(taken) * 1e6 / count;
}

/** {@linkcode middlePart} for work that waits. */
export async function middlePartAsync(
  { count, parts }: Plan,
  work: (count: number) => Promise<void>,
): Promise<number> {
  const taken: number[] = [];
  for (let i = 0; i < parts; i++) {
    const start = performance.now();
    await work(count);
    taken.push(performance.now() - start);
  }
  return middle(taken) * 1e6 / count;
}

/** As many operations as fit into whole lists. */
export function wholeLists({ count, parts }: Plan, list: number): Plan {
  return { count: Math.ceil(count / list) * list, parts };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
