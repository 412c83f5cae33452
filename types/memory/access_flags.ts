import { type Members, members } from "../../ffi/members.ts";

/**
 * What a device may do with memory (`enum ibv_access_flags`), combined with `|`. 0 is enough to send from the memory.
 *
 * - `LOCAL_WRITE`: the device writes what it receives, and the results of RDMA reads and atomics
 * - `REMOTE_WRITE`: peers write by RDMA; it needs `LOCAL_WRITE`
 * - `REMOTE_READ`: peers read by RDMA
 * - `REMOTE_ATOMIC`: peers use atomics; it needs `LOCAL_WRITE`
 * - `MW_BIND`: memory windows can be bound to the region
 * - `ZERO_BASED`: remote addresses count from 0
 * - `ON_DEMAND`: pages need not be present and locked when the memory is registered
 * - `HUGETLB`: the memory is of huge pages
 * - `RELAXED_ORDERING`: the device may reorder its writes
 *
 * @category Memory
 */
export const AccessFlags: Members<"ibv_access_flags", "IBV_ACCESS_"> = members(
  "ibv_access_flags",
  "IBV_ACCESS_",
);
