/** The addresses that a host may be reached at. */

// getaddrinfo(3) of Linux.
const AF_INET = 2;
const AF_INET6 = 10;

interface Found<Address> {
  readonly family: number;
  readonly dstAddr?: Address | undefined;
}

/**
 * Each address of a host, first that of the family that the system prefers. The other one is looked up when it is asked for:
 * `rdma_getaddrinfo` gives only one address.
 *
 * @param lookUp Looks the host up, in one family or in any.
 */
export async function* eachAddress<Address>(
  lookUp: (family?: number) => Promise<readonly Found<Address>[]>,
  signal?: AbortSignal,
): AsyncGenerator<NonNullable<Address>, void, void> {
  const [preferred] = await lookUp();
  yield preferred!.dstAddr!;
  try {
    const [other] = await lookUp(preferred!.family === AF_INET ? AF_INET6 : AF_INET);
    yield other!.dstAddr!;
  } catch {
    signal?.throwIfAborted();
    // It has none.
  }
}
