import { mappedErrno } from "./errno.ts";
import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { checkedCall } from "./system_error.ts";

/**
 * Makes reading a descriptor fail with `EAGAIN` while there is nothing to read. Other flags of the descriptor stay as they
 * are.
 *
 * @throws {SystemError} If the descriptor is not open (`EBADF`).
 */
export function setNonblocking(fd: number): void {
  const fcntl = (op: number, arg: number): number =>
    checkedCall("watch descriptor", "fcntl", libc().fcntl(fd, op, arg));
  fcntl(constants.F_SETFL, fcntl(constants.F_GETFL, 0) | constants.O_NONBLOCK);
}

/** errno of making a descriptor, such as that of `EMFILE`; 0 if the process may make one. */
export function descriptorErrno(): number {
  const fd = libc().eventfd(0, constants.EFD_CLOEXEC);
  if (fd < 0) return mappedErrno()[0]!;
  libc().close(fd);
  return 0;
}
