/** The addresses at which a host may be reached. */

import { constants } from "../ffi/layout.ts";

interface Found<Address> {
  readonly family: number;
  readonly dstAddr?: Address | undefined;
}

/**
 * Each address of a host, first that of the family that the system prefers. The other one is looked up only when the
 * caller asks for it: `rdma_getaddrinfo` returns only one address.
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
    const isIPv4 = preferred!.family === constants.AF_INET;
    const [other] = await lookUp(isIPv4 ? constants.AF_INET6 : constants.AF_INET);
    yield other!.dstAddr!;
  } catch {
    signal?.throwIfAborted();
    // The host has none of this family.
  }
}
