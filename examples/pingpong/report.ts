/** The last lines of a ping-pong, as the C tools print them. */

/** Prints how long a ping-pong took. */
export function report(
  milliseconds: number,
  { size, iters }: { readonly size: number; readonly iters: number },
): void {
  const microseconds = milliseconds * 1000;
  const bytes = size * iters * 2;
  const seconds = (microseconds / 1e6).toFixed(2);
  const rate = (bytes * 8 / microseconds).toFixed(2);
  console.log(`${bytes} bytes in ${seconds} seconds = ${rate} Mbit/sec`);
  console.log(
    `${iters} iters in ${seconds} seconds = ${(microseconds / iters).toFixed(2)} usec/iter`,
  );
}
