import { libc } from "./libc.ts";

// asm-generic, alike on both architectures: poll.h, fcntl.h, sys/eventfd.h
const POLLIN = 0x1;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;
const EFD_NONBLOCK = O_NONBLOCK;

/**
 * Waits for a descriptor to become readable, on another thread, and can be woken. It makes the descriptor non-blocking,
 * so that what is readable can be drained. The descriptor stays its owner's to close.
 */
export class Readiness {
  readonly #wakeFd: number;
  /** Two `struct pollfd { int fd; short events; short revents; }`, the second one to be woken by. */
  readonly #fds: Int32Array<ArrayBuffer>;

  /** Watches `fd`. */
  constructor(fd: number) {
    setNonblocking(fd);
    this.#wakeFd = libc().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (this.#wakeFd < 0) {
      throw new Error("Cannot watch descriptor: the system has no eventfd left");
    }
    this.#fds = Int32Array.of(fd, POLLIN, this.#wakeFd, POLLIN);
  }

  /** Resolves when the descriptor is readable, or after {@linkcode Readiness.wake}. One wait at a time. */
  async wait(): Promise<void> {
    await libc().poll(this.#fds, 2n, -1);
    const wakeEvents = this.#fds[3]! >> 16;
    if ((wakeEvents & POLLIN) !== 0) libc().read(this.#wakeFd, new BigUint64Array(1), 8n);
  }

  /** Ends the wait under way, or else the next one. */
  wake(): void {
    libc().write(this.#wakeFd, BigUint64Array.of(1n), 8n);
  }

  /** Frees what the watching took; no wait may be under way. */
  close(): void {
    libc().close(this.#wakeFd);
  }
}

/** Has reading a descriptor fail with EAGAIN, rather than wait, while there is nothing to read. */
export function setNonblocking(fd: number): void {
  if (libc().fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
    throw new Error("Cannot watch descriptor: it is not open");
  }
}
