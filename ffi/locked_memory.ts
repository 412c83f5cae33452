import { constants } from "./layout.ts";
import { libc } from "./libc.ts";

/** Bytes that are certainly not locked yet. */
const MORE = 1n << 20n;

/**
 * The most bytes of memory that the process may lock. It is undefined if the kernel does not hold the process to the limit,
 * as one with the capability CAP_IPC_LOCK, or there is none.
 */
export function lockLimit(): bigint | undefined {
  const limits = new BigUint64Array(2);
  if (libc().getrlimit(constants.RLIMIT_MEMLOCK, limits) !== 0) return undefined;
  const limit = limits[0]!;
  return limit === constants.RLIM_INFINITY || canLock(limit + MORE) ? undefined : limit;
}

/** Whether so much memory may be locked. A capability does not tell: one of a user namespace does not count. */
function canLock(length: bigint): boolean {
  const { PROT_NONE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FAILED } = constants;
  const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const pointer = libc().mmap(null, length, PROT_NONE, flags, -1, 0n);
  if (Deno.UnsafePointer.value(pointer) === MAP_FAILED) return true;
  // No page is there to be locked, and none is made.
  const result = libc().mlock2(pointer, length, constants.MLOCK_ONFAULT);
  libc().munmap(pointer, length);
  return result === 0;
}
