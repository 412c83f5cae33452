import { clock } from "../internal/clock.ts";
import { mappedErrno } from "./errno.ts";
import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { systemError } from "./system_error.ts";

/** The longest `poll`: a Worker can only be terminated between two of them. */
export const LONGEST_MS = 10_000;

/** The milliseconds that one `poll` may take of a wait until then. */
export function pollTimeout(until: number): number {
  if (until === Infinity) return LONGEST_MS;
  return Math.max(0, Math.min(Math.ceil(until - clock.precise()), LONGEST_MS));
}

/**
 * Waits on this thread until a descriptor is readable, or has an error or hangup. Nothing else runs on the thread
 * meanwhile. Signals do not end the wait.
 *
 * @param until The end of the wait, in the time of `clock.precise()`. It is `Infinity` for a wait without end.
 * @returns Whether the descriptor is ready; `false` if the time is over.
 * @throws {SystemError} If the system refuses to poll.
 */
export function blockUntilReadable(fd: number, until: number): boolean {
  // `struct pollfd { int fd; short events; short revents; }`
  const descriptors = Int32Array.of(fd, constants.POLLIN);
  for (;;) {
    const ms = pollTimeout(until);
    const ready = libc().poll_here(descriptors, 1n, ms);
    if (ready > 0) return true;
    const errno = ready < 0 ? mappedErrno()[0]! : 0;
    if (errno !== 0 && errno !== constants.EINTR) {
      throw systemError("watch descriptor", "poll", errno);
    }
    // It has waited for all that was left, whatever the clock says.
    if (errno === 0 && ms < LONGEST_MS) return false;
  }
}
