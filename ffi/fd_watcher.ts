/** Waits for descriptors to become readable, by one `poll(2)` on one thread; while nobody waits there is no thread. */

import { Glance, OFTEN_MS } from "../internal/glance.ts";
import { hasTurned, nextTurn } from "../internal/turns.ts";
import { mappedErrno } from "./errno.ts";
import { LONGEST_MS } from "./fd_block.ts";
import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { checkedCall, type SystemError, systemError } from "./system_error.ts";
import { isFirstThread } from "./threads.ts";

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
  /** Says whether the process stays alive for this wait. */
  hold(isHeld: boolean): void;
}

/** It is called within the turn in which `poll` has told that the descriptor is readable, or has failed. */
export type OnReady = (error?: SystemError) => void;

interface Wait extends PromiseWithResolvers<void> {
  readonly fd: number;
  readonly onReady: OnReady | undefined;
  readonly longestMs: number;
  isHeld: boolean;
}

/** `poll(2)` on another thread. */
type Poll = (fds: Int32Array<ArrayBuffer>, count: bigint, timeout: number) => Promise<number>;

/**
 * Waits for any number of descriptors by one `poll` at a time, as long as some wait is held. Otherwise it looks at the
 * descriptors now and then.
 */
export class FdWatcher {
  readonly #poll: Poll;
  readonly #waits: Set<Wait> = new Set();
  /** The `poll` that is running, if any; it resolves when `poll` has returned. */
  #round: Promise<void> | undefined;
  /** What that `poll` waits for. */
  #polled: ReadonlySet<Wait> = new Set();
  #looping = false;
  #woken = false;
  /** A `poll` on another thread keeps the process alive. Waits that must not do so are looked at now and then. */
  readonly #glances = new Glance(() => this.#lookOnce());
  /** Whether {@linkcode FdWatcher.#eventFd} stays open while nobody waits. */
  readonly #keepsEventFd: boolean;
  /** Wakes the `poll` that is running. It is opened by the first wait. */
  #eventFd = -1;

  /**
   * Makes a watcher that polls by this function.
   *
   * @param keepsEventFd Whether it keeps its own descriptor while nobody waits, which makes waits cheaper. A watcher that
   * goes away before its process must not keep it.
   */
  constructor(poll: Poll, keepsEventFd: boolean = true) {
    this.#poll = poll;
    this.#keepsEventFd = keepsEventFd;
  }

  /** {@linkcode waitReadable} */
  wait(
    fd: number,
    isHeld: boolean = true,
    onReady?: OnReady,
    longestMs: number = OFTEN_MS,
  ): FdWait {
    if (this.#eventFd < 0) {
      this.#eventFd = checkedCall(
        "watch descriptor",
        "eventfd",
        libc().eventfd(0, constants.EFD_CLOEXEC | constants.EFD_NONBLOCK),
      );
    }
    const wait: Wait = { fd, isHeld, onReady, longestMs, ...Promise.withResolvers<void>() };
    this.#waits.add(wait);
    this.#update();
    return {
      ready: wait.promise,
      cancel: () => this.#cancel(wait),
      hold: (isHeld) => {
        wait.isHeld = isHeld;
        this.#update();
      },
    };
  }

  /** Ends all waits and the `poll` that is running, whose memory goes away with the program. */
  end(): void {
    for (const { resolve, promise, onReady } of this.#waits) {
      resolve();
      // Not before what is waited for is closed: else it is waited for again.
      if (onReady !== undefined) void promise.then(() => onReady());
    }
    this.#waits.clear();
    this.#wake();
    if (this.#eventFd >= 0) libc().close(this.#eventFd);
    this.#eventFd = -1;
  }

  /** Resolves when no `poll` has a descriptor any more whose wait was cancelled. */
  get settled(): Promise<void> {
    return this.#woken ? this.#round! : Promise.resolve();
  }

  async #cancel(wait: Wait): Promise<void> {
    if (!this.#waits.delete(wait)) return;
    wait.resolve();
    if (this.#round === undefined) return this.#update();
    this.#wake();
    await this.#round;
  }

  get #isHeld(): boolean {
    for (const { isHeld } of this.#waits) if (isHeld) return true;
    return false;
  }

  /** Does what the waits need, after one has come, gone or changed. */
  #update(): void {
    if (this.#round !== undefined) {
      if (!this.#isHeld || this.#waits.difference(this.#polled).size > 0) this.#wake();
    } else if (!this.#looping) {
      if (this.#isHeld) this.#loop();
      else this.#glance();
    }
  }

  /** Ends the `poll` that is running, so that the next one has the current set of descriptors. */
  #wake(): void {
    if (this.#round === undefined || this.#woken) return;
    this.#woken = true;
    libc().write(this.#eventFd, BigUint64Array.of(1n), 8n);
  }

  async #loop(): Promise<void> {
    this.#looping = true;
    this.#glances.rest();
    while (this.#isHeld) {
      await this.#pollOnce();
      // Those that wait again at once are part of the next poll, and need not wake it.
      if (this.#isHeld) await nextTurn();
    }
    this.#looping = false;
    this.#glance();
  }

  async #pollOnce(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const polled = this.#polled = new Set(this.#waits);
    this.#round = promise;
    const fds = this.#descriptors(polled);
    const count = BigInt(fds.length / 2);
    let ready = await this.#poll(fds, count, LONGEST_MS);
    hasTurned();
    // errno of the other thread is out of reach: a call on this thread fails as well, or tells what is ready.
    if (ready < 0) ready = libc().poll_here(fds, count, 0);
    // From here on nothing wakes this round: what wakes is for the next one, which begins later.
    this.#round = undefined;
    if (this.#woken) {
      this.#woken = false;
      libc().read(this.#eventFd, new BigUint64Array(1), 8n);
    }
    resolve();
    this.#finish(polled, fds, ready);
  }

  /** `struct pollfd { int fd; short events; short revents; }` of each descriptor. */
  #descriptors(waits: ReadonlySet<Wait>): Int32Array<ArrayBuffer> {
    const fds = new Int32Array(2 * (waits.size + 1));
    let at = 0;
    for (const fd of [this.#eventFd, ...[...waits].map(({ fd }) => fd)]) {
      fds[at++] = fd;
      fds[at++] = constants.POLLIN;
    }
    return fds;
  }

  /** Ends the waits that are over. `ready` is what the last `poll` on this thread or on another one returned. */
  #finish(polled: ReadonlySet<Wait>, fds: Int32Array<ArrayBuffer>, ready: number): void {
    if (ready === 0) return;
    const error = ready < 0
      ? systemError("watch descriptor", "poll", mappedErrno()[0]!)
      : undefined;
    let at = 1;
    for (const wait of polled) {
      const revents = fds[2 * at++ + 1]! >>> 16;
      if (error === undefined && revents === 0 || !this.#waits.delete(wait)) continue;
      if (error === undefined || wait.onReady !== undefined) wait.resolve();
      else wait.reject(error);
      wait.onReady?.(error);
    }
  }

  /** Looks at the descriptors now and then, as long as somebody waits and no `poll` does. */
  #glance(): void {
    if (this.#waits.size === 0) {
      this.#glances.end();
      if (!this.#keepsEventFd && this.#eventFd >= 0) {
        libc().close(this.#eventFd);
        this.#eventFd = -1;
      }
    } else {
      this.#glances.begin(false, Math.min(...[...this.#waits].map(({ longestMs }) => longestMs)));
    }
  }

  #lookOnce(): boolean {
    const polled = new Set(this.#waits);
    const fds = this.#descriptors(polled);
    const ready = libc().poll_here(fds, BigInt(fds.length / 2), 0);
    this.#finish(polled, fds, ready);
    this.#update();
    return ready !== 0;
  }
}

let shared: FdWatcher | undefined;

/**
 * Waits until a descriptor is readable. The process stays alive during the wait if it is held. The descriptor must stay open until the
 * wait ends. If a Worker is terminated during a wait, its thread ends within 10 seconds.
 *
 * @param onReady Is called in place of a rejection, and before the promise resolves. It must not throw.
 * @param longestMs The longest time between two looks at the descriptor while no wait is held.
 * @throws {SystemError} If the process has no descriptor left for the watcher itself (`EMFILE`).
 */
export function waitReadable(
  fd: number,
  isHeld: boolean = true,
  onReady?: OnReady,
  longestMs?: number,
): FdWait {
  shared ??= new FdWatcher((...args) => libc().poll(...args), isFirstThread());
  return shared.wait(fd, isHeld, onReady, longestMs);
}

/** Resolves when nothing uses a descriptor any more whose wait was cancelled. */
export async function settled(): Promise<void> {
  await shared?.settled;
}

/** Ends all waits, because the program ends: `ready` of each resolves. */
export function endWaits(): void {
  shared?.end();
}

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
