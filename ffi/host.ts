/** What limits this process, and which interfaces its network namespace has. */

import { mappedErrno } from "./errno.ts";
import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { cString } from "./pointers.ts";

/** Bytes that are certainly not locked yet. */
const MORE = 1n << 20n;

/**
 * The most bytes of memory that the process may lock. It is undefined if there is no limit, or if the kernel does not
 * apply it, as to a process with the capability CAP_IPC_LOCK.
 */
export function lockLimit(): bigint | undefined {
  const limits = new BigUint64Array(2);
  if (libc().getrlimit(constants.RLIMIT_MEMLOCK, limits) !== 0) return undefined;
  const limit = limits[0]!;
  return limit === constants.RLIM_INFINITY || canLock(limit + MORE) ? undefined : limit;
}

/** Whether this much memory may be locked. Capabilities do not show it: one of a user namespace does not count. */
function canLock(length: bigint): boolean {
  const { PROT_NONE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FAILED } = constants;
  const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const pointer = libc().mmap(null, length, PROT_NONE, flags, -1, 0n);
  if (Deno.UnsafePointer.value(pointer) === MAP_FAILED) return true;
  // No page exists yet, and MLOCK_ONFAULT makes none: only the limit is checked.
  const result = libc().mlock2(pointer, length, constants.MLOCK_ONFAULT);
  libc().munmap(pointer, length);
  return result === 0;
}

/** The errno with which making a descriptor fails, such as that of `EMFILE`; 0 if it succeeds. */
export function descriptorErrno(): number {
  const fd = libc().eventfd(0, constants.EFD_CLOEXEC);
  if (fd < 0) return mappedErrno()[0]!;
  libc().close(fd);
  return 0;
}

/** Whether the network namespace of this process has an interface with this index. */
export function hasNetdev(index: number): boolean {
  return libc().if_indextoname(index, new Uint8Array(constants.IF_NAMESIZE)) !== null;
}

/** The index of the network interface with a name; 0 if the network namespace of this process has none. */
export function netdevIndex(name: string): number {
  // C would end the name at a zero character.
  return name.includes("\0") ? 0 : libc().if_nametoindex(cString(name));
}
