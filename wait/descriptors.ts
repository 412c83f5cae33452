/**
 * Waits for descriptors to become readable, by one `epoll(7)` on one other thread. There is no such thread while
 * nothing waits.
 */

import { mappedErrno } from "../ffi/errno.ts";
import { constants, structs } from "../ffi/layout.ts";
import { libc } from "../ffi/libc.ts";
import { NativeMemory } from "../ffi/native_memory.ts";
import { checkedCall, SystemError, systemError } from "../ffi/system_error.ts";
import { isFirstThread } from "../ffi/threads.ts";
import type { Bell, Need, OnWake, Sleep } from "./bell.ts";
import { mostPolls } from "./busy_poll.ts";
import { clock } from "./clock.ts";
import { IDLE_MS, IdleCheck, PROMPT_MS } from "./idle_check.ts";
import { state } from "./state.ts";
import { hasTurned, nextTurn } from "./turns.ts";

const { size: EVENT, fields } = structs.epoll_event;
const DATA = fields["data.u64"].offset;
/** The bytes of memory for the events of one round, which are those of a page. */
const EVENTS_SIZE = 4096;
const MOST_EVENTS = Math.floor(EVENTS_SIZE / EVENT);
/** The longest round: a Worker can only be terminated between two of them. */
const LONGEST_MS = 10_000;
/** Serial number of the event that only ends a round; no wait has it. */
const NO_WAIT = 0;
const UNWRITTEN = 0xffff_ffff;
/** Longer than another thread takes to end its round. */
const ROUND_END_MS = 20;

/** `epoll_wait(2)` on another thread. */
type EpollWait = (
  epoll: number,
  events: Uint8Array<ArrayBuffer>,
  most: number,
  ms: number,
) => Promise<number>;

interface Wait {
  readonly fd: number;
  /** Distinguishes it from others that have had the same descriptor number. */
  readonly serial: number;
  readonly wake: OnWake<SystemError>;
  need: Need;
}

/** What `epoll_wait` writes. The views are made once: each costs as much as the call. */
interface ReadyEvents {
  /** Native, because a Worker can be terminated while another thread writes to it. */
  readonly memory: NativeMemory;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly words: DataView<ArrayBuffer>;
}

function readyEvents(): ReadyEvents {
  const memory = new NativeMemory(EVENTS_SIZE);
  const { buffer } = memory;
  return { memory, bytes: new Uint8Array(buffer), words: new DataView(buffer) };
}

/**
 * Waits for any number of descriptors. A descriptor is registered once; each wait arms it for one event
 * (`EPOLLONESHOT`), also while a round of `epoll_wait` runs. So the cost of a wake-up depends on what is ready, not on
 * how many wait. A wait that ends early needs no call of the kernel: it is forgotten, and an event that still comes for
 * it is ignored.
 *
 * A round runs as long as some wait is held. Other waits are checked now and then.
 */
export class Descriptors {
  readonly #epollWait: EpollWait;
  /** Whether the descriptors of this object stay open while nobody waits. */
  readonly #keepsOpen: boolean;
  /** By descriptor: each has one wait at a time. */
  readonly #waits: Map<number, Wait> = new Map();
  #lastSerial = NO_WAIT;
  #held = 0;
  /** Waits that must be checked often while none is held. */
  #prompt = 0;
  #epoll = -1;
  /** A descriptor that is always readable: to arm it interrupts the round that is running. */
  #interrupter = -1;
  #ready: ReadyEvents | undefined;
  readonly #request: DataView<ArrayBuffer> = new DataView(new ArrayBuffer(EVENT));
  /** The round that is running, if any; it resolves when it has ended. */
  #round: Promise<void> | undefined;
  #isInterrupted = false;
  readonly #idleCheck = new IdleCheck(() => this.#look());

  /**
   * Waits for nothing yet.
   *
   * @param keepsOpen Whether its own descriptors stay open while nobody waits, which makes waits cheaper. A thread that
   * ends before its process must not keep them.
   */
  constructor(epollWait: EpollWait, keepsOpen: boolean = true) {
    this.#epollWait = epollWait;
    this.#keepsOpen = keepsOpen;
  }

  /** `watchDescriptor` */
  watch(fd: number, need: Need, wake: OnWake<SystemError>): Sleep {
    this.#open();
    const serial = this.#lastSerial = (this.#lastSerial + 1) % UNWRITTEN || 1;
    const errno = this.#arm(fd, serial);
    if (errno !== 0) {
      // It was opened for nothing, unless others wait.
      this.#update();
      return wakeSoon(wake, errorOf(errno));
    }
    const wait: Wait = { fd, serial, wake, need };
    // A wait whose descriptor was closed before the wait was cancelled.
    const before = this.#waits.get(fd);
    if (before !== undefined) this.#remove(before);
    this.#waits.set(fd, wait);
    this.#count(wait, 1);
    this.#update();
    return {
      cancel: () => {
        if (!this.#remove(wait)) return;
        this.#update();
      },
      hold: (need) => this.#hold(wait, need),
    };
  }

  /** Forgets all waits, and ends the round that is running. Nothing of this object may run after it. */
  end(): void {
    this.#waits.clear();
    this.#held = this.#prompt = 0;
    this.#idleCheck.end();
    if (this.#round !== undefined) this.#endRound();
    this.#close();
  }

  /** To close the descriptors before the other thread has left its round would leave it there. */
  #endRound(): void {
    if (this.#isInterrupted) return;
    const { words: written } = this.#ready!;
    written.setUint32(DATA + 4, UNWRITTEN);
    this.#interrupt();
    const until = clock.precise() + ROUND_END_MS;
    let left = mostPolls(ROUND_END_MS);
    while (written.getUint32(DATA + 4) === UNWRITTEN && left-- > 0 && clock.precise() < until);
  }

  get pendingRound(): Promise<void> | undefined {
    return this.#isInterrupted ? this.#round : undefined;
  }

  #open(): void {
    if (this.#epoll >= 0) return;
    const { EPOLL_CLOEXEC, EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CTL_ADD } = constants;
    const made = (call: string, fd: number): number => checkedCall("watch descriptor", call, fd);
    this.#interrupter = made("eventfd", libc().eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    try {
      this.#epoll = made("epoll_create1", libc().epoll_create1(EPOLL_CLOEXEC));
      const errno = this.#control(EPOLL_CTL_ADD, this.#interrupter, NO_WAIT, 0);
      if (errno !== 0) throw systemError("watch descriptor", "epoll_ctl", errno);
      this.#ready ??= readyEvents();
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  #close(): void {
    for (const fd of [this.#epoll, this.#interrupter]) if (fd >= 0) libc().close(fd);
    this.#epoll = this.#interrupter = -1;
    if (this.#round !== undefined) return;
    this.#ready?.memory.free();
    this.#ready = undefined;
  }

  /** Asks for one event of a descriptor, at once if it is readable. Returns errno, or 0. */
  #arm(fd: number, serial: number): number {
    const { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLLIN, EPOLLONESHOT, ENOENT } = constants;
    const events = EPOLLIN | EPOLLONESHOT;
    const errno = this.#control(EPOLL_CTL_MOD, fd, serial, events);
    // A closed descriptor has left the kernel's table, and its number may be that of another one.
    return errno === ENOENT ? this.#control(EPOLL_CTL_ADD, fd, serial, events) : errno;
  }

  #control(op: number, fd: number, serial: number, events: number): number {
    this.#request.setUint32(fields.events.offset, events, true);
    this.#request.setUint32(DATA, fd, true);
    this.#request.setUint32(DATA + 4, serial, true);
    return libc().epoll_ctl(this.#epoll, op, fd, this.#request) < 0 ? mappedErrno()[0]! : 0;
  }

  #interrupt(): void {
    if (this.#round === undefined || this.#isInterrupted) return;
    this.#isInterrupted = true;
    this.#arm(this.#interrupter, NO_WAIT);
  }

  #count({ need }: Wait, by: 1 | -1): void {
    if (need === "held") this.#held += by;
    else if (need === "prompt") this.#prompt += by;
  }

  #hold(wait: Wait, need: Need): void {
    if (wait.need === need || this.#waits.get(wait.fd) !== wait) return;
    this.#count(wait, -1);
    wait.need = need;
    this.#count(wait, 1);
    this.#update();
  }

  #remove(wait: Wait): boolean {
    if (this.#waits.get(wait.fd) !== wait) return false;
    this.#waits.delete(wait.fd);
    this.#count(wait, -1);
    return true;
  }

  #end(wait: Wait, error?: SystemError): void {
    if (this.#remove(wait)) wait.wake(error);
  }

  /** Does what the waits need, after one has come, gone or changed. */
  #update(firstMs?: number): void {
    if (this.#round !== undefined) {
      if (this.#held === 0) this.#interrupt();
    } else if (this.#held > 0) {
      this.#idleCheck.rest();
      this.#round = this.#run();
    } else if (this.#waits.size > 0) {
      this.#idleCheck.begin(false, this.#prompt > 0 ? PROMPT_MS : IDLE_MS, firstMs);
    } else {
      this.#idleCheck.end();
      if (!this.#keepsOpen) this.#close();
    }
  }

  async #run(): Promise<void> {
    const { bytes } = this.#ready!;
    const count = await this.#epollWait(this.#epoll, bytes, MOST_EVENTS, LONGEST_MS);
    hasTurned();
    this.#round = undefined;
    this.#isInterrupted = false;
    if (count >= 0) this.#deliver(count);
    // The errno of the other thread cannot be read: a call on this thread fails as well, or returns what is ready.
    else if (this.#epoll >= 0) this.#look();
    this.#update(PROMPT_MS);
  }

  /** Looks at what is ready now. Returns whether there was anything. */
  #look(): boolean {
    const count = libc().epoll_wait_here(this.#epoll, this.#ready!.bytes, MOST_EVENTS, 0);
    if (count >= 0) this.#deliver(count);
    else this.#fail(mappedErrno()[0]!);
    if (this.#round === undefined) this.#update();
    return count !== 0;
  }

  #fail(errno: number): void {
    if (errno === constants.EINTR) return;
    const error = systemError("watch descriptor", "epoll_wait", errno);
    for (const wait of [...this.#waits.values()]) this.#end(wait, error);
  }

  #deliver(count: number): void {
    const { words } = this.#ready!;
    const ended: Wait[] = [];
    for (let at = DATA; at < count * EVENT; at += EVENT) {
      const wait = this.#waits.get(words.getUint32(at, true));
      if (wait?.serial === words.getUint32(at + 4, true)) ended.push(wait);
    }
    // Not before: a callback may begin another round, which writes to the same memory.
    for (const wait of ended) this.#end(wait);
  }
}

/** A sleep without a descriptor that rings. */
function wakeSoon(wake: OnWake<SystemError>, error: SystemError | undefined): Sleep {
  let isOver = false;
  void nextTurn().then(() => isOver || wake(error));
  return { cancel: () => void (isOver = true), hold: () => {} };
}

/**
 * A descriptor that cannot be an event source, such as a file, is always readable; one that is not open fails when it
 * is read.
 */
function errorOf(errno: number): SystemError | undefined {
  const { EPERM, EBADF } = constants;
  if (errno === EPERM || errno === EBADF) return undefined;
  return systemError("watch descriptor", "epoll_ctl", errno);
}

/**
 * Calls back once, in a later turn, when a descriptor is readable, or has an error or hangup. It calls with an error if
 * the system refuses to wait. The process stays alive meanwhile if the wait is held. Other waits are checked now and
 * then while none is held: at least every 16 ms, or twice a second. Each descriptor has one wait at a time. If a Worker
 * is terminated during a wait, its thread ends within 10 seconds.
 *
 * @throws {SystemError} If the process has no descriptor left for the wait itself (`EMFILE`).
 */
export function watchDescriptor(
  fd: number,
  need: Need,
  wake: OnWake<SystemError>,
): Sleep {
  const { epoll_wait } = libc();
  state.descriptors ??= new Descriptors((...args) => epoll_wait(...args), isFirstThread());
  return state.descriptors.watch(fd, need, wake);
}

/** Resolves when no other thread waits for something that is no longer needed. */
export async function settled(): Promise<void> {
  await state.descriptors?.pendingRound;
}

/** Ends all waits, because the program ends. */
export function endWaits(): void {
  state.descriptors?.end();
}

/** The milliseconds for which one system call of a wait until then may last. */
export function timeoutUntil(until: number): number {
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
    const ms = timeoutUntil(until);
    const ready = libc().poll(descriptors, 1n, ms);
    if (ready > 0) return true;
    const errno = ready < 0 ? mappedErrno()[0]! : 0;
    if (errno !== 0 && errno !== constants.EINTR) {
      throw systemError("watch descriptor", "poll", errno);
    }
    // It has waited for all of the time that was left, whatever the clock says.
    if (errno === 0 && ms < LONGEST_MS) return false;
  }
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

/** A descriptor that rings while it is readable. Its sleeps are waits of `watchDescriptor` and `blockUntilReadable`. */
export class DescriptorBell implements Bell {
  readonly #fd: number;
  readonly #toError: (error: SystemError) => Error;

  /** Makes the descriptor non-blocking. `toError` makes the errors that others get. */
  constructor(fd: number, toError: (error: SystemError) => Error) {
    this.#fd = fd;
    this.#toError = toError;
    this.#run(() => setNonblocking(fd));
  }

  sleep(need: Need, wake: OnWake): Sleep {
    const onReady = (error?: SystemError): void => wake(error && this.#toError(error));
    return this.#run(() => watchDescriptor(this.#fd, need, onReady));
  }

  sleepSync(until: number): boolean {
    return this.#run(() => blockUntilReadable(this.#fd, until));
  }

  #run<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw error instanceof SystemError ? this.#toError(error) : error;
    }
  }
}
