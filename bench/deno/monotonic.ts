/** The clock that the C contender reads. */

const CLOCK_MONOTONIC = 1;
const SECOND = 1e9;

const { symbols } = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "pointer"], result: "i32" },
});
const timespec = new Uint32Array(4);
const pointer = Deno.UnsafePointer.of(timespec);
symbols.clock_gettime(CLOCK_MONOTONIC, pointer);
const first = timespec[0]!;

/** Nanoseconds since the module was loaded, about: a number that is exact. */
export function monotonic(): number {
  symbols.clock_gettime(CLOCK_MONOTONIC, pointer);
  return (timespec[0]! - first) * SECOND + timespec[2]!;
}

/** Nanoseconds of the clock itself on the same scale. */
export function onSameScale(nanoseconds: bigint): number {
  return Number(nanoseconds - BigInt(first) * BigInt(SECOND));
}
