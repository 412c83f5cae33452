/** What newer kernels do otherwise than Linux 6.1, for which the tests are written: the one place that knows it. */

interface Difference {
  /** The first of the tested kernels that does it. */
  readonly since: string;
  readonly what: string;
  readonly reason: string;
}

export const DIFFERENCES = {
  dropsLongDatagrams: {
    since: "6.12",
    what: "soft-RoCE drops a datagram that is longer than the buffer, without a completion",
    reason: "the InfiniBand specification has a UD queue pair drop it silently",
  },
} as const satisfies Readonly<Record<string, Difference>>;

/** Whether the kernel on which the tests run does it. */
export function differs(
  name: keyof typeof DIFFERENCES,
  release: string = Deno.osRelease(),
): boolean {
  const { since } = DIFFERENCES[name];
  const order = new Intl.Collator("en", { numeric: true });
  return order.compare(release, since) >= 0;
}
