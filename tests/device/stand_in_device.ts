/** What device tests run on, if that is no RDMA device: tests/library/net sets it before it imports them. */
export const standIn: {
  /** The name of the device. */
  device?: string;
  /** Registers a test in place of the one that counts the kernel's objects. */
  test?: (name: string, body: () => void | Promise<void>) => void;
} = {};
