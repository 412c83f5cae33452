/** What newer kernels do otherwise than Linux 6.1, for which the tests are written: the one place that knows it. */

interface Difference {
  /** The first of the tested kernels that does it. */
  readonly since: string;
  readonly what: string;
  readonly reason: string;
}

export const DIFFERENCES = {
  dropsDatagrams: {
    since: "6.12",
    what: "soft-RoCE drops a datagram that its buffer cannot take, without a completion",
    reason: "the InfiniBand specification has a UD queue pair drop it silently",
  },
  flushesFaultySends: {
    since: "6.12",
    what: "soft-RoCE ends a send that it refuses itself with WR_FLUSH_ERR, not with the cause",
    reason: "it puts the queue pair into the error state before it makes the completion",
  },
  clearsGids: {
    since: "6.12",
    what:
      "a path of a soft-RoCE device whose network device is deleted fails with EINVAL, not ENODEV",
    reason: "the GID that the packet came to has left the table",
  },
  disassociates: {
    since: "7.3",
    what: "a soft-RoCE device that is deleted ends at once: DEVICE_FATAL, then EIO",
    reason: "its driver takes the device from programs; before, it waited until they closed it",
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
