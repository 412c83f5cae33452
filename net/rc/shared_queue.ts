import { BusyPoll } from "../../wait/busy_poll.ts";
import { mayContinue, nextTurn } from "../../wait/turns.ts";
import { CompletionChannel, CompletionQueue, WorkCompletionList } from "../../mod.ts";
import type { Loop, Want } from "../../wait/loop.ts";
import { BATCH, loopOf } from "../shared/completions.ts";
import type { DeviceUse } from "../shared/device_use.ts";

/** The most completions that are taken before their readers go on, except for the last batch. */
const MOST_TAKEN = 1024;
/**
 * How many readers go on in a turn of the event loop: two, because one may answer the other. What a thousand connections use
 * is in no cache when it is their turn, so each of them goes on once with all that has come for it.
 */
const SERVED_IN_TURN = 2;

/** The reader of the completions of one queue pair. */
export interface Reader {
  /** Takes a completion. It remains in the batch only during the call. */
  take(batch: WorkCompletionList, index: number): void;
  /** All completions of a poll were taken: their waiters go on. */
  serve(): void;
  /** The queue has no more completions. */
  fail(reason: unknown): void;
}

/**
 * What a queue pair needs its completions for, as bits: a call waits for them; the wait keeps the program alive; the
 * program stays alive for completions to come.
 */
export const AWAITED = 1;
export const HELD = 2;
export const EXPECTING = 4;

/** A queue pair's share of a queue: its entries, its completions, and what they are needed for. */
export class QueueShare {
  readonly queue: SharedQueue;
  #qpNum: number | undefined;
  #needs = 0;
  #isOver = false;

  constructor(queue: SharedQueue) {
    this.queue = queue;
    queue.shares++;
  }

  /** Sets the reader of the completions of a new queue pair. */
  begin(qpNum: number, reader: Reader): void {
    this.queue.readers.set(this.#qpNum = qpNum, reader);
    this.queue.loop.update();
  }

  /** Sets what completions are needed for from now on. It is called for each message. */
  note(needs: number): void {
    const last = this.#needs;
    if (needs === last) return;
    const { queue } = this;
    const before = queue.needs;
    const change = (bit: number): number => Math.sign((needs & bit) - (last & bit));
    queue.awaited += change(AWAITED);
    queue.held += change(HELD);
    queue.expecting += change(EXPECTING);
    this.#needs = needs;
    if (queue.needs !== before) queue.loop.update();
  }

  /** The queue pair is destroyed. Its number may be that of the next one, so its completions are read before. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.queue.shares--;
    if (this.#qpNum !== undefined) {
      this.queue.readRest();
      this.queue.readers.delete(this.#qpNum);
    }
    this.note(0);
  }
}

/** A completion queue of many queue pairs, and the loop that reads it. */
export class SharedQueue {
  readonly cq: CompletionQueue;
  /** Reads when it is time. */
  readonly loop: Loop;
  readonly readers: Map<number, Reader> = new Map();
  /**
   * How many queue pairs use it, how many of them have waits, for how many of those the program stays alive, and how
   * many have requests in progress.
   */
  shares = 0;
  awaited = 0;
  held = 0;
  expecting = 0;
  /** How many queue pairs it has entries for. */
  readonly #most: number;
  readonly #batch: WorkCompletionList = new WorkCompletionList(BATCH);
  /** The place in the batch. Code of the program can run while it is read, and read as well: it goes on there. */
  #next = 0;
  /** The readers that have taken completions, and have still to go on. */
  readonly #unserved: Set<Reader> = new Set();
  /** Whether waiters that got something run before it polls for the others. */
  #isYielding = false;
  #isOpen = true;

  constructor(device: DeviceUse, most: number, entries: number, spinMicroseconds: number) {
    this.#most = most;
    const { context } = device;
    using stack = new DisposableStack();
    const channel = stack.use(new CompletionChannel(context));
    this.cq = stack.use(new CompletionQueue(context, { cqe: most * entries, channel }));
    this.loop = loopOf(this.cq, {
      read: () => this.read(),
      isOpen: () => this.#isOpen,
      want: () => this.#want(),
      busyPoll: new BusyPoll(spinMicroseconds),
      onError: (error) => this.#fail(error),
    });
    stack.move();
    device.own(channel);
  }

  /** What its completions are needed for. */
  get needs(): number {
    return (this.awaited > 0 ? AWAITED : 0) | (this.held > 0 ? HELD : 0) |
      (this.expecting > 0 ? EXPECTING : 0);
  }

  #want(): Want {
    const isHeld = this.held > 0 || this.expecting > 0;
    if (this.awaited > 0 && !this.#isYielding) return isHeld ? "held" : "prompt";
    if (this.shares === 0) return "nothing";
    return this.expecting > 0 ? "expected" : "any";
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.shares < this.#most;
  }

  /** Reads completions without waiting, unless readers still wait for their turn. Returns how many there were. */
  read(): number {
    if (this.#unserved.size > 0) return 0;
    let count = 0;
    for (let some; (some = this.#takeSome()) > 0;) {
      count += some;
      if (count >= MOST_TAKEN || !mayContinue()) break;
    }
    this.#serve();
    return count;
  }

  /** Reads for a while, in place of a wait that sleeps. */
  spin(): void {
    if (this.#unserved.size === 0) this.loop.spin();
  }

  /** Reads the completions that are there now. Others that come meanwhile do not prolong it. */
  readRest(): void {
    let left = this.#entries;
    for (let count; left > 0 && (count = this.#takeSome()) > 0;) left -= count;
    this.#serve();
  }

  /** The same, and lets the event loop turn if it takes long: it returns what to wait for then. */
  readRestInTurns(left: number = this.#entries): Promise<void> | undefined {
    for (let count; left > 0 && (count = this.#takeSome()) > 0;) {
      left -= count;
      this.#serve();
      if (!mayContinue()) return nextTurn().then(() => this.readRestInTurns(left));
    }
  }

  get #entries(): number {
    return this.#isOpen ? this.cq.cqe : 0;
  }

  /** Before the use of the device ends. */
  close(): void {
    this.#isOpen = false;
    this.loop.update();
  }

  /** Takes the completions of one poll. Returns how many there were. */
  #takeSome(): number {
    const batch = this.#batch;
    if (!this.#isOpen || this.#next >= batch.length && !this.#poll()) return 0;
    const count = batch.length - this.#next;
    while (this.#next < batch.length) this.#take(this.#next++);
    return count;
  }

  /** Has some readers go on, and the others in later turns. */
  #serve(): void {
    if (this.#unserved.size === 0) return;
    let left = SERVED_IN_TURN;
    for (const reader of this.#unserved) {
      if (left-- === 0) break;
      this.#unserved.delete(reader);
      reader.serve();
    }
    if (!this.#isYielding && (this.#unserved.size > 0 || this.awaited > 0)) void this.#yield();
  }

  /** A poll for other waiters that finds nothing would delay the answer to what has come. */
  async #yield(): Promise<void> {
    this.#isYielding = true;
    await nextTurn();
    this.#isYielding = false;
    if (this.#unserved.size > 0) this.#serve();
    else this.loop.update();
  }

  #poll(): boolean {
    this.#next = 0;
    try {
      return this.cq.pollInto(this.#batch) > 0;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Completions of a queue pair that is destroyed have no reader. */
  #take(index: number): void {
    const reader = this.readers.get(this.#batch.qpNum(index));
    if (reader === undefined) return;
    this.#unserved.add(reader);
    reader.take(this.#batch, index);
  }

  #fail(error: unknown): void {
    this.close();
    for (const reader of this.readers.values()) reader.fail(error);
  }
}

/**
 * The most queue pairs of a queue: with more, the entries of one queue pair are too far apart for the processor's
 * cache.
 */
const MOST_SHARES = 256;
const FIRST_SHARES = 4;

/** The completion queues of a device: each next one is for twice as many queue pairs, as far as the device permits. */
export class SharedQueues {
  readonly #device: DeviceUse;
  readonly #entries: number;
  readonly #spinMicroseconds: number;
  readonly #queues: SharedQueue[] = [];
  #nextShares = FIRST_SHARES;

  /** `entries` is what one queue pair needs. */
  constructor(device: DeviceUse, entries: number, spinMicroseconds: number) {
    this.#device = device;
    this.#entries = entries;
    this.#spinMicroseconds = spinMicroseconds;
  }

  /** Keeps entries for a queue pair. */
  share(): QueueShare {
    return new QueueShare(this.#queues.find(({ hasRoom }) => hasRoom) ?? this.#add());
  }

  #add(): SharedQueue {
    const permitted = Math.floor(this.#device.context.queryDevice().maxCqe / this.#entries);
    const most = Math.max(1, Math.min(this.#nextShares, permitted));
    const queue = new SharedQueue(this.#device, most, this.#entries, this.#spinMicroseconds);
    this.#nextShares = Math.min(2 * this.#nextShares, MOST_SHARES);
    this.#queues.push(queue);
    return queue;
  }

  /** Before the use of the device ends. */
  close(): void {
    for (const queue of this.#queues) queue.close();
  }
}
