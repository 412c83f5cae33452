/**
 * Waits for descriptors to become readable. All descriptors share one `poll(2)` on one thread, however many there are;
 * while nobody waits there is no thread.
 *
 * @module
 */

import { mappedErrno } from "./errno.ts";
import { libc } from "./libc.ts";
import { systemError } from "./system_error.ts";

// asm-generic, alike on both architectures: poll.h, fcntl.h, sys/eventfd.h, errno.h
const POLLIN = 0x1;
const F_GETFL = 3;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;
const EFD_NONBLOCK = O_NONBLOCK;
const EINTR = 4;

/**
 * `poll` returns after this time and is called again. A Worker that is terminated cannot end its `poll`: the thread goes
 * away when this time is over.
 */
const POLL_TIMEOUT_MS = 10_000;

/** A wait for a descriptor. */
export interface FdWait {
  /**
   * Resolves when the descriptor is readable, or has an error or hangup. It resolves when the wait is cancelled, too.
   * It rejects with a {@linkcode SystemError} if the system refuses to poll.
   */
  readonly ready: Promise<void>;
  /**
   * Ends the wait. The promise resolves when `poll` does not use the descriptor for this wait any more: then its owner may
   * close it. Cancelling again, or after `ready`, does nothing.
   */
  cancel(): Promise<void>;
}

interface Wait extends PromiseWithResolvers<void> {
  readonly fd: number;
}

const waits: Set<Wait> = new Set();
/** The `poll` that is running, if any; it resolves when `poll` has returned. */
let round: Promise<void> | undefined;
let looping = false;
let woken = false;
let eventFd: number | undefined;

/**
 * Waits until a descriptor is readable. The process stays alive during the wait. The descriptor must stay open until the
 * wait ends.
 *
 * @throws {SystemError} If the process has no descriptor left for the watcher itself (`EMFILE`).
 */
export function waitReadable(fd: number): FdWait {
  openEventFd();
  const wait: Wait = { fd, ...Promise.withResolvers<void>() };
  waits.add(wait);
  if (looping) wake();
  else loop();
  return { ready: wait.promise, cancel: () => cancel(wait) };
}

/**
 * Makes reading a descriptor fail with `EAGAIN` while there is nothing to read. Other flags of the descriptor stay as they
 * are.
 *
 * @throws {SystemError} If the descriptor is not open (`EBADF`).
 */
export function setNonblocking(fd: number): void {
  const flags = checked("fcntl", libc().fcntl(fd, F_GETFL, 0));
  checked("fcntl", libc().fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

/** errno is still the call's: nothing runs between a synchronous call and this check. */
function checked(call: string, result: number): number {
  if (result < 0) throw systemError("watch descriptor", call, mappedErrno()[0]!);
  return result;
}

function openEventFd(): void {
  eventFd ??= checked("eventfd", libc().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

async function cancel(wait: Wait): Promise<void> {
  if (!waits.delete(wait)) return;
  wait.resolve();
  if (round === undefined) return;
  wake();
  await round;
}

/** Ends the `poll` that is running, so that the next one has the current set of descriptors. */
function wake(): void {
  if (round === undefined || woken) return;
  woken = true;
  libc().write(eventFd!, BigUint64Array.of(1n), 8n);
}

async function loop(): Promise<void> {
  looping = true;
  while (waits.size > 0) {
    const { promise, resolve } = Promise.withResolvers<void>();
    round = promise;
    await pollOnce([...waits]);
    round = undefined;
    resolve();
    // Those that wait again at once are part of the next poll, and need not wake it.
    if (waits.size > 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  looping = false;
}

/** Waits for some of the descriptors, and ends the waits whose time has come. */
async function pollOnce(polled: readonly Wait[]): Promise<void> {
  const fds = pollfds(polled);
  let count = await libc().poll(fds, BigInt(fds.length / 2), POLL_TIMEOUT_MS);
  // errno of the other thread is out of reach: a call on this thread fails in the same way, or tells what is ready.
  if (count < 0) count = libc().poll_now(fds, BigInt(fds.length / 2), 0);
  const errno = count < 0 ? mappedErrno()[0]! : 0;
  if (woken) drainEventFd();
  if (count < 0 && errno !== EINTR) return failAll(polled, errno);
  polled.forEach((wait, i) => {
    if (revents(fds, i + 1) !== 0) finish(wait, wait.resolve);
  });
}

/** `struct pollfd { int fd; short events; short revents; }` of the eventfd and of each wait. */
function pollfds(polled: readonly Wait[]): Int32Array<ArrayBuffer> {
  const descriptors = [eventFd!, ...polled.map(({ fd }) => fd)];
  return Int32Array.from(descriptors.flatMap((fd) => [fd, POLLIN]));
}

function revents(fds: Int32Array, index: number): number {
  return fds[2 * index + 1]! >>> 16;
}

function drainEventFd(): void {
  woken = false;
  libc().read(eventFd!, new BigUint64Array(1), 8n);
}

function failAll(polled: readonly Wait[], errno: number): void {
  const error = systemError("watch descriptor", "poll", errno);
  for (const wait of polled) finish(wait, () => wait.reject(error));
}

function finish(wait: Wait, settle: () => void): void {
  if (waits.delete(wait)) settle();
}
