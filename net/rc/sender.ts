import { type QueuePair, type SendRequest, SendRequestList, WrOpcode } from "../../mod.ts";
import { orAborted } from "../../wait/abort.ts";
import { nextTurn } from "../../wait/turns.ts";
import { Waiters } from "../../wait/waiters.ts";
import { CONTROL_SENDS, CREDIT_SENDS, FrameType, type Protocol } from "./protocol.ts";
import { CHECK, SEND, type Slot, type Slots } from "./slots.ts";

/** Checks of the peer that have no completion, in a row. Their places are free when a later request has completed. */
const QUIET_CHECKS = 15;
/** The most requests in progress that need no slot: those of the protocol, and checks of the peer. */
export const SLOTLESS_SENDS: number = CONTROL_SENDS + QUIET_CHECKS;
/** An empty write is acknowledged by the device of the peer. It needs no receive and no key. */
const EMPTY_WRITE = { opcode: WrOpcode.RDMA_WRITE, remoteAddr: 0, rkey: 0 } as const;

/** Prepared requests without memory, of all connections of a device. */
const [CONTROL, SIGNALED_CHECK, QUIET_CHECK] = [0, 1, 2] as const;

/** Makes the prepared requests. */
export function prepared(): SendRequestList {
  const list = new SendRequestList({ capacity: 3 });
  list.set(CONTROL, { wrId: SEND, opcode: WrOpcode.SEND_WITH_IMM, immData: 0 });
  list.set(SIGNALED_CHECK, { ...EMPTY_WRITE, wrId: SEND });
  list.set(QUIET_CHECK, { ...EMPTY_WRITE, wrId: CHECK, signaled: false });
  return list;
}

/** What the sender and the receiver of a connection need of it. */
export interface Connection {
  /** Why nothing works any more; undefined while it works. */
  readonly failure: unknown;
  /** Reads completions without waiting. */
  read(): void;
  /** Reads completions for a while, in place of a wait that sleeps. */
  spin(): void;
  /** Takes note of what has changed: somebody waits, or nobody does any more, or a request was posted. */
  update(): void;
  /** Ends it. */
  fail(reason: unknown): void;
}

/** What somebody posts, at once or when it is the turn of those who wait. The calls are numbered in their order. */
interface Sending {
  readonly number: number;
  /** What uses a receive of the peer needs a slot and a credit, the end of the messages neither, another request a slot. */
  readonly needs: "credit" | "slot" | "order";
  readonly post: () => void;
}

/** A request in progress: its slot, and who waits for its completion and gets the bytes. */
interface InProgress {
  readonly slot: Slot | undefined;
  readonly resolve?: ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined;
  readonly reject?: ((reason: unknown) => void) | undefined;
}

/**
 * The sending side of a connection. A message waits until the peer has a receive and this end a slot, is copied to the slot
 * and posted, and gives the slot back when it has completed. Requests of a queue pair complete in the order in which they
 * were posted.
 */
export class Sender {
  readonly #qp: QueuePair;
  readonly #slots: Slots;
  readonly #prepared: SendRequestList;
  readonly #depth: number;
  readonly #protocol: Protocol;
  readonly #connection: Connection;
  /** What was posted of messages and writes. */
  readonly counts = { sent: 0, bytesSent: 0, writesSent: 0 };
  /** Those who may wait for credits, and those whom what waits for credits does not stop. */
  readonly #sending: Waiters<Sending, void> = new Waiters(() => this.#hasGivenUp());
  readonly #operating: Waiters<Sending, void> = new Waiters(() => this.#hasGivenUp());
  #lastNumber = 0;
  /** The turn of the event loop in which they are served, if they are to be served without a completion. */
  #serving: Promise<void> | undefined;
  readonly #inProgress: InProgress[] = [];
  /** How many of them have a slot, and somebody who waits. */
  #used = 0;
  #awaited = 0;
  /** Requests that have a completion even if they succeed. */
  #posted = 0;
  #completed = 0;
  /** Those who wait until so many requests have completed. */
  readonly #flushing: Waiters<{ readonly count: number }, void>;
  /** The requests at the last call of `Sender.checkPeer`, and quiet checks since they have changed. */
  #checked = 0;
  #quietChecks = 0;

  /** At most `depth` requests may have a slot. */
  constructor(
    qp: QueuePair,
    { slots, prepared }: { readonly slots: Slots; readonly prepared: SendRequestList },
    depth: number,
    protocol: Protocol,
    connection: Connection,
  ) {
    this.#qp = qp;
    this.#slots = slots;
    this.#prepared = prepared;
    this.#depth = depth;
    this.#protocol = protocol;
    this.#connection = connection;
    this.#flushing = new Waiters(() => connection.update());
  }

  /** How many slots it has. */
  get slots(): number {
    return this.#used;
  }

  /** Whether somebody waits for it. */
  get isAwaited(): boolean {
    return this.#hasWaiting || this.#flushing.size > 0 || this.#awaited > 0;
  }

  /** Whether there will be completions. */
  get isExpecting(): boolean {
    return this.#completed < this.#posted;
  }

  /** Sends a message at once, or returns what to wait for until it is copied and posted. */
  send(message: Uint8Array, signal: AbortSignal | undefined): Promise<void> | undefined {
    const post = (): void => {
      this.#withSlot((slot) => {
        slot.write(message);
        slot.postSend(this.#qp, message.length, this.#protocol.frame(FrameType.DATA));
        return { slot };
      });
      this.#protocol.sent(FrameType.DATA);
      this.counts.sent++;
      this.counts.bytesSent += message.length;
    };
    return this.#post("credit", post, signal);
  }

  /**
   * Posts a request that uses `length` bytes of a slot, and waits for its completion. `data` is copied to the slot first.
   * Returns what `finish` makes of the bytes then.
   */
  async operate<T>(
    request: SendRequest,
    length: number,
    data: Uint8Array | undefined,
    finish: (bytes: Uint8Array<ArrayBuffer>) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Nobody waits for it if the wait itself fails.
    promise.catch(() => {});
    const usesReceive = request.opcode === WrOpcode.RDMA_WRITE_WITH_IMM;
    const post = (): void => {
      this.#withSlot((slot) => {
        if (data !== undefined) slot.write(data);
        this.#qp.postSend({ ...request, wrId: SEND, sge: slot.sge(length) });
        this.#awaited++;
        // Now: the next request may use the slot. A buffer of the caller may be gone.
        return { slot, resolve: (bytes) => resolve(Promise.try(finish, bytes)), reject };
      });
      if (!usesReceive) return;
      this.#protocol.sentWrite();
      this.counts.writesSent++;
    };
    await this.#post(usesReceive ? "credit" : "slot", post, signal);
    return await orAborted(promise, signal);
  }

  /** Sends no more messages. Those that wait for credits are sent first. */
  async end(signal: AbortSignal | undefined): Promise<void> {
    const post = (): void => {
      if (!this.#protocol.ended) this.control(FrameType.END);
    };
    await this.#post("order", post, signal);
  }

  /** Posts now if nobody else waits, or returns what to wait for. */
  #post(
    needs: Sending["needs"],
    post: () => void,
    signal: AbortSignal | undefined,
  ): Promise<void> | undefined {
    signal?.throwIfAborted();
    const sending = { number: ++this.#lastNumber, needs, post };
    const isNext = !this.#hasWaiting;
    if (isNext && !this.#mayPost(sending)) this.#connection.read();
    this.assertSending(needs);
    if (isNext && this.#mayPost(sending)) {
      sending.post();
      this.#connection.update();
      return undefined;
    }
    const sent = this.#waitersOf(sending).wait(sending, signal);
    // Those that wait for credits do not stop other requests.
    if (!isNext && needs !== "credit") this.#serveSoon();
    this.#connection.update();
    return sent;
  }

  /** Checks that something can be sent. */
  assertSending(needs: Sending["needs"]): void {
    if (this.#connection.failure !== undefined) throw this.#connection.failure;
    this.#protocol.assertSending(needs === "credit");
  }

  #mayPost({ needs }: Sending): boolean {
    if (needs === "order") return true;
    if (needs === "credit" && !this.#protocol.hasCredit) return false;
    // If no memory is left, a request waits for those before it; the first one fails.
    return this.#used === 0 || this.#used < this.#depth && this.#slots.has(1);
  }

  /** @throws {VerbsError} If the device refuses, or no memory can be registered. */
  #withSlot(post: (slot: Slot) => InProgress): void {
    const slot = this.#slots.take();
    try {
      this.#add(post(slot));
      this.#used++;
    } catch (error) {
      this.#slots.give(slot);
      throw error;
    }
  }

  #add(request: InProgress): void {
    this.#inProgress.push(request);
    this.#posted++;
  }

  /** Sends a message of the protocol. One of credits is left out while many are in progress: what is owed goes with a later one. */
  control(type: FrameType): void {
    const hasRoom = this.#inProgress.length - this.#used < CREDIT_SENDS;
    if (type === FrameType.CREDIT && !hasRoom) return;
    this.#prepared.setImmData(CONTROL, this.#protocol.frame(type));
    this.#postPrepared(CONTROL);
    this.#protocol.sent(type);
  }

  #postPrepared(index: number): void {
    this.#qp.postSend(this.#prepared, index, 1);
    this.#add({ slot: undefined });
  }

  /** The oldest request has completed. */
  complete(): void {
    const { slot, resolve } = this.#oldest();
    resolve?.(slot!.bytes());
  }

  /** The oldest request has failed. Who waits for it gets the reason. */
  failOldest(reason: unknown): void {
    this.#oldest().reject?.(reason);
  }

  /** Takes the oldest request, which is not in progress any more. */
  #oldest(): InProgress {
    const request = this.#inProgress.shift()!;
    this.#completed++;
    if (request.resolve !== undefined) this.#awaited--;
    if (request.slot !== undefined) {
      this.#used--;
      this.#slots.give(request.slot);
    }
    return request;
  }

  /** Those who wait go on, after something has completed or credits have come. */
  serve(): void {
    this.#serveFlushing();
    if (this.#hasWaiting) this.#serveWaiting();
  }

  #serveFlushing(): void {
    if (this.#flushing.size === 0) return;
    this.#flushing.resolveAll(undefined, ({ count }) => count <= this.#completed);
  }

  #serveWaiting(): void {
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting()) {
      const waiters = this.#waitersOf(next);
      try {
        this.assertSending(next.needs);
        next.post();
        waiters.resolve(next, undefined);
      } catch (error) {
        waiters.reject(next, error);
      }
    }
  }

  /** The one that may post now, if there is one, of those that wait longest: thousands can wait behind them. */
  #nextWaiting(): Sending | undefined {
    return [this.#sending.first, this.#operating.first]
      .filter((waiting) => waiting !== undefined && this.#mayPost(waiting))
      .sort((a, b) => a!.number - b!.number)[0];
  }

  #waitersOf({ needs }: Sending): Waiters<Sending, void> {
    return needs === "slot" ? this.#operating : this.#sending;
  }

  get #hasWaiting(): boolean {
    return this.#sending.size + this.#operating.size > 0;
  }

  /** A wait to send has ended early: it may have stopped others. */
  #hasGivenUp(): void {
    if (this.#hasWaiting) this.#serveSoon();
    this.#connection.update();
  }

  #serveSoon(): void {
    this.#serving ??= nextTurn().then(() => {
      this.#serving = undefined;
      this.#serveWaiting();
      this.#connection.update();
    });
  }

  /** Waits until the device of the peer has acknowledged everything that was posted. */
  async flush(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const count = this.#posted;
    this.#connection.read();
    if (this.#connection.failure !== undefined) throw this.#connection.failure;
    if (this.#completed >= count) return;
    const flushed = this.#flushing.wait({ count }, signal);
    this.#connection.update();
    await flushed;
  }

  /**
   * Checks that the peer is there, unless a request was posted since the last call or is in progress. Most checks have a
   * completion only if they fail, so that nobody wakes up while the peer is there.
   */
  checkPeer(): void {
    const isIdle = this.#checked === this.#posted && !this.isExpecting;
    if (this.#checked !== this.#posted) this.#quietChecks = 0;
    this.#checked = this.#posted;
    if (!isIdle) return;
    if (this.#quietChecks++ < QUIET_CHECKS) this.#qp.postSend(this.#prepared, QUIET_CHECK, 1);
    else this.#postPrepared(SIGNALED_CHECK);
  }

  /** Nothing is sent any more. */
  rejectWaiting(reason: unknown): void {
    this.#sending.rejectAll(reason);
    this.#operating.rejectAll(reason);
  }

  /** Nothing completes any more. The slots are in use until the queue pair is destroyed. */
  fail(reason: unknown): void {
    for (const { reject } of this.#inProgress) reject?.(reason);
    this.#awaited = 0;
    this.rejectWaiting(reason);
    this.#serveFlushing();
    this.#flushing.rejectAll(reason);
  }

  /** The queue pair is destroyed. */
  release(): void {
    for (const { slot } of this.#inProgress.splice(0)) {
      if (slot !== undefined) this.#slots.give(slot);
    }
    this.#used = 0;
  }
}
