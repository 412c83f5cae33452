/** Numbers of the RDMA communication manager that programs without verbs need too. */

import { constants } from "../ffi/layout.ts";

/** The qkey of all datagrams between ids of rdma_cm (`RDMA_UDP_QKEY`). */
export const UDP_QKEY: number = constants.RDMA_UDP_QKEY;

/** The address family as the system numbers it. */
export function familyOf(isIpv4: boolean): number {
  return isIpv4 ? constants.AF_INET : constants.AF_INET6;
}
