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
    reason:
      "it compares the lengths before it copies; without a shared receive queue, a packet with a wrong length is dropped",
  },
  flushesFaultySends: {
    since: "6.12",
    what: "soft-RoCE ends a send that it refuses itself with WR_FLUSH_ERR, not with the cause",
    reason:
      "it puts the queue pair into the error state, in which it flushes all sends, before it makes the completion",
  },
  keepsPort: {
    since: "6.12",
    what:
      "a path of a soft-RoCE device whose network device is deleted fails with EINVAL, not ENODEV",
    reason:
      "a port answers until its network device is gone; 6.1 refuses the query of the port with ENODEV before",
  },
  readsSharedFiles: {
    since: "6.12",
    what: "a file that is mapped shared and read-only can be registered without LOCAL_WRITE",
    reason: "it pins pages as the access needs them; 6.1 pins all of them to be written",
  },
  sendsLater: {
    since: "6.12",
    what: "soft-RoCE loses sends whose queue pair is destroyed before they have completed",
    reason:
      "it sends in a work queue, which ends with the queue pair; 6.1 sends during the call that posts",
  },
  disassociates: {
    since: "7.3",
    what: "a soft-RoCE device that is deleted ends at once: DEVICE_FATAL, then EIO",
    reason:
      "its driver has disassociate_ucontext; without it, the kernel waits until programs close the device",
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
