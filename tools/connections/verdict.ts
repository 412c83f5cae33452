/** Whether many connections have left something. */

/** What the process and the kernel hold, with one bed open. */
export interface Sample {
  readonly descriptors: number;
  readonly objects: string;
  readonly heap: number;
}

/** V8 keeps compiled code and its feedback; 3 kB left by each of 800 connections are more. */
export const MOST_GROWTH = 2e6;

/** What is left, in words. The memory of the process is only shown: the C library keeps pools. */
export function leftovers(before: Sample, after: Sample): string[] {
  return [
    ...before.descriptors === after.descriptors ? [] : ["descriptors are left"],
    ...before.objects === after.objects ? [] : [`kernel objects are left of ${before.objects}`],
    ...after.heap - before.heap <= MOST_GROWTH ? [] : ["the heap grows"],
  ];
}
