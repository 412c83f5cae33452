/** Nanoseconds that `work` took for each of `count` operations. */
export function time(count: number, work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) * 1e6 / count;
}
