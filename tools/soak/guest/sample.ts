/** What the process and the kernel hold. */

import { resourceCounts } from "../../../tests/device/resource_counts.ts";
import { alive } from "../../../tests/device/stub.ts";
import type { Counts, Sample } from "../record.ts";

const KILOBYTE = 1024;

/** Takes a sample. The garbage is collected first. */
export function sample(seconds: number): Sample {
  (globalThis as unknown as { gc: () => void }).gc();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  return {
    seconds: Math.round(seconds * 10) / 10,
    resident: rss,
    heap: heapUsed + external,
    kernelObjects: sumOf(
      Object.values(resourceCounts()).flatMap((counts) => Object.values(counts)),
    ),
    stubObjects: sumOf(Object.values(alive() as Counts)),
    kernelMemory: unreclaimable() * KILOBYTE,
    descriptors: lengthOf("/proc/self/fd"),
    threads: lengthOf("/proc/self/task"),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function unreclaimable(): number {
  const [, kilobytes] = /^SUnreclaim: +(\d+) kB$/m.exec(Deno.readTextFileSync("/proc/meminfo"))!;
  return Number(kilobytes);
}

function lengthOf(folder: string): number {
  return [...Deno.readDirSync(folder)].length;
}
