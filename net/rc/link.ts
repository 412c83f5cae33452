import {
  type QueuePair,
  type SendRequest,
  WcFlags,
  WcOpcode,
  WcStatus,
  type WorkCompletion,
  WorkCompletionError,
  type WorkCompletionList,
  WrOpcode,
} from "../../mod.ts";
import { orAborted } from "../../wait/abort.ts";
import { nextTurn } from "../../wait/turns.ts";
import { Waiters } from "../../wait/waiters.ts";
import { Incoming } from "../../wait/incoming.ts";
import { Inbox, type Message } from "./inbox.ts";
import { made } from "../../internal/made.ts";
import { BorrowedMessage, type Lending } from "../shared/borrowed.ts";
import { Outbox } from "./outbox.ts";
import { FrameType, peerLeft, Protocol } from "./protocol.ts";
import type { RcDevice } from "./rc_device.ts";
import type { RcClosed } from "./rc_closed.ts";
import type { RcSettings } from "./rc_options.ts";
import type { RcStats } from "./rc_stats.ts";
import { CHECK, RECEIVE } from "./request_ids.ts";
import { AWAITED, EXPECTING, HELD, type Reader, type Seat } from "./shared_queue.ts";
import type { Slot } from "./slots.ts";

/** What somebody who waits for a slot will post. It takes effect when it is the turn of the waiter. */
interface Sending {
  /** What uses a receive of the peer needs a slot and a credit, the end of the messages neither, another request a slot. */
  readonly needs: "credit" | "slot" | "order";
  readonly post: () => void;
}

/** Those who wait are numbered in the order of their calls. */
interface Waiting extends Sending {
  readonly number: number;
}

/** What becomes of a message, or of those that are there. */
export interface Target {
  readonly how: "copy" | "copy many" | "lend";
  readonly buffer?: Uint8Array<ArrayBuffer> | undefined;
}

/** A message, or several. */
export type Taken = Uint8Array<ArrayBuffer> | Uint8Array<ArrayBuffer>[] | BorrowedMessage;

/** What a link has of what connections share. */
interface LinkParts {
  readonly seat: Seat;
  /** The slot that its first message comes to. */
  readonly slot: Slot;
  readonly device: RcDevice;
}

const { CREDIT, HELLO, END, BYE, DATA, WRITE } = FrameType;

/** Moves the frames of a connection: those who wait to send and to receive, and the queues of the device. */
export class Link implements Reader {
  readonly #seat: Seat;
  readonly #device: RcDevice;
  readonly #hasEnded: () => boolean;
  readonly #protocol: Protocol;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  /** The immediate data of writes that nobody has taken yet. */
  readonly #written: number[] = [];
  readonly messages: Incoming<Target, Taken>;
  readonly writes: Incoming<object, number>;
  /** Those who may wait for credits, and those whom what waits for credits does not stop. */
  readonly #sending: Waiters<Waiting, void> = new Waiters(() => this.#hasGivenUp());
  readonly #operating: Waiters<Waiting, void> = new Waiters(() => this.#hasGivenUp());
  #lastNumber = 0;
  /** The turn of the event loop in which they are served, if they are to be served without a completion. */
  #serving: Promise<void> | undefined;
  /** Those who wait until so many requests have completed. */
  readonly #flushing: Waiters<{ readonly count: number }, void> = new Waiters(() => this.#look());
  readonly #closed: PromiseWithResolvers<RcClosed> = Promise.withResolvers();
  readonly #greeted: PromiseWithResolvers<void> = Promise.withResolvers();
  #isConnecting = false;
  /** Whether those who wait for something of the peer keep the program alive. */
  #isHeld = true;
  /** The connection ends: this end posts no receives and gives no credits. */
  #isEnding = false;
  readonly #counts = {
    ...{ received: 0, bytesReceived: 0, writesReceived: 0 },
    ...{ sent: 0, bytesSent: 0, writesSent: 0 },
  };
  /** Why nothing works any more. */
  #failure: unknown;
  /** Whether a frame has come of which those who wait know nothing yet. */
  #hasReceived = false;
  /** A request was flushed: the reason is in another completion. */
  #isFlushed = false;

  /** `hasEnded` tells that the connection has ended outside of the queue pair: `Link.break` gets the reason. */
  constructor(
    qp: QueuePair,
    { seat, slot, device }: LinkParts,
    { credits, sendDepth }: RcSettings,
    hasEnded: () => boolean,
  ) {
    this.#seat = seat;
    this.#device = device;
    this.#hasEnded = hasEnded;
    this.#protocol = new Protocol(credits, 1);
    // The connection can break before somebody waits for the peer.
    this.#greeted.promise.catch(() => {});
    this.#outbox = new Outbox(qp, device.slots, device.prepared, sendDepth);
    this.#inbox = new Inbox(qp, device.slots, slot);
    const supply = {
      hasEnded: () => this.#hasPeerEnded(),
      drain: () => void this.#read(),
      spin: () => seat.queue.spin(),
      update: () => this.#look(),
    };
    this.messages = new Incoming({
      ...supply,
      size: () => this.#inbox.size,
      take: (target) => this.#take(target),
    });
    this.writes = new Incoming({
      ...supply,
      size: () => this.#written.length,
      take: () => this.#consume(this.#written.shift()!, this.writes),
    });
    seat.begin(qp.qpNum, this);
  }

  /** Takes note of what has changed: somebody waits, or nobody does any more, or a request was posted. */
  #look(): void {
    const isOpen = this.#failure === undefined;
    const isSending = isOpen && this.#isSending;
    const isReceiving = isOpen && (this.messages.isWaiting || this.writes.isWaiting);
    const isExpecting = isOpen && this.#outbox.completed < this.#outbox.posted;
    this.#seat.note(
      (isSending || isReceiving ? AWAITED : 0) |
        (isSending || isReceiving && this.#isHeld ? HELD : 0) | (isExpecting ? EXPECTING : 0),
    );
  }

  /** Whether somebody waits for more than what the peer sends. */
  get #isSending(): boolean {
    return this.#isConnecting || this.#hasWaiting || this.#flushing.size > 0 ||
      this.#outbox.isAwaited;
  }

  /** Says whether those who wait for something of the peer keep the program alive. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#look();
  }

  /** Resolves when it is known how the connection ends. What is found out later is a consequence. */
  get closed(): Promise<RcClosed> {
    return this.#closed.promise;
  }

  /** Counters until now. After the end they are the last ones. */
  get stats(): RcStats {
    this.#read();
    const memory = (this.#inbox.slots + this.#outbox.slots) * this.#device.slots.slotSize;
    return { ...this.#counts, ...this.#protocol.numbers, memory };
  }

  get isOver(): boolean {
    return this.#protocol.peerLeft || this.#failure !== undefined;
  }

  /** Connects to a peer that has receives for so many messages. An end that the peer waits for gives `answer`. */
  async connect(
    credits: number,
    signal: AbortSignal,
    answer: (() => Promise<void>) | undefined,
  ): Promise<void> {
    this.#protocol.start(credits);
    this.#isConnecting = true;
    this.#look();
    if (answer === undefined) this.#control(HELLO);
    else await answer();
    await orAborted(this.#greeted.promise, signal);
    this.#isConnecting = false;
    this.#look();
    if (answer !== undefined) this.#control(HELLO);
  }

  /** Whether the peer sends nothing more that this end takes. */
  #hasPeerEnded(): boolean {
    if (this.#protocol.peerEnded) return true;
    if (this.#failure !== undefined) throw this.#failure;
    return false;
  }

  #take({ how, buffer }: Target): Taken {
    if (how === "lend") return this.#lend();
    if (how === "copy") return this.#consume(this.#inbox.take(buffer), this.messages);
    return this.#takeMany(buffer!);
  }

  /** Copies the first message, and those that are there and fit behind it. */
  #takeMany(buffer: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const taken = [this.#inbox.take(buffer)];
    let end = taken[0]!.length;
    while (this.#inbox.fits(buffer.length - end)) {
      const next = this.#inbox.take(buffer.subarray(end));
      this.#protocol.consume(this.#inbox.size);
      taken.push(next);
      end += next.length;
    }
    return this.#consume(taken, this.messages);
  }

  #lend(): BorrowedMessage {
    const message = this.#inbox.lend();
    const giveBack = (): void => this.#takeBack(message);
    return new BorrowedMessage(made<Lending>({ bytes: () => message.bytes, giveBack }));
  }

  #takeBack(message: Message): void {
    this.#inbox.takeBack(message);
    try {
      this.#consume(undefined, this.messages);
    } catch (error) {
      this.fail(error);
    }
  }

  #consume<T>(taken: T, { unread }: { readonly unread: number }): T {
    this.#protocol.consume(unread);
    this.#giveCredits();
    return taken;
  }

  /** Sends a message at once, or returns what to wait for until it is copied and posted. */
  send(message: Uint8Array, signal: AbortSignal | undefined): Promise<void> | undefined {
    const post = (): void => {
      this.#outbox.send(message, this.#protocol.frame(DATA));
      this.#protocol.sent(DATA);
      this.#counts.sent++;
      this.#counts.bytesSent += message.length;
    };
    return this.#post({ needs: "credit", post }, signal);
  }

  /** Posts a request that uses bytes of a slot, and waits for its completion. */
  async operate<T>(
    request: SendRequest,
    length: number,
    data: Uint8Array | undefined,
    finish: (bytes: Uint8Array<ArrayBuffer>) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    let completed: Promise<T> | undefined;
    const usesReceive = request.opcode === WrOpcode.RDMA_WRITE_WITH_IMM;
    const post = (): void => {
      completed = this.#outbox.operate(request, length, data, finish);
      if (!usesReceive) return;
      this.#protocol.sentWrite();
      this.#counts.writesSent++;
    };
    await this.#post({ needs: usesReceive ? "credit" : "slot", post }, signal);
    return await orAborted(completed!, signal);
  }

  /** Posts now if nobody else waits, or returns what to wait for. */
  #post(sending: Sending, signal: AbortSignal | undefined): Promise<void> | undefined {
    signal?.throwIfAborted();
    const isNext = !this.#hasWaiting;
    if (isNext && !this.#mayPost(sending)) this.#read();
    this.#assertSending(sending);
    if (isNext && this.#mayPost(sending)) {
      sending.post();
      this.#look();
      return undefined;
    }
    const sent = this.#waitersOf(sending).wait({ ...sending, number: ++this.#lastNumber }, signal);
    // Those that wait for credits do not stop other requests.
    if (!isNext && sending.needs !== "credit") this.#serveSoon();
    this.#look();
    return sent;
  }

  /** Checks that messages, and writes that use a receive, can be sent. */
  assertMessages(): void {
    this.#assertSending({ needs: "credit" });
  }

  #assertSending({ needs }: Pick<Sending, "needs">): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#protocol.assertSending(needs === "credit");
  }

  #mayPost({ needs }: Sending): boolean {
    if (needs === "order") return true;
    return this.#outbox.hasSlot && (needs === "slot" || this.#protocol.hasCredit);
  }

  #waitersOf({ needs }: Sending): Waiters<Waiting, void> {
    return needs === "slot" ? this.#operating : this.#sending;
  }

  get #hasWaiting(): boolean {
    return this.#sending.size + this.#operating.size > 0;
  }

  /** A wait to send has ended early: it may have stopped others. */
  #hasGivenUp(): void {
    if (this.#hasWaiting) this.#serveSoon();
    this.#look();
  }

  #serveSoon(): void {
    this.#serving ??= nextTurn().then(() => {
      this.#serving = undefined;
      this.#serveSends();
    });
  }

  #rejectSends(reason: unknown): void {
    this.#sending.rejectAll(reason);
    this.#operating.rejectAll(reason);
  }

  #serveSends(): void {
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting()) {
      const waiters = this.#waitersOf(next);
      try {
        this.#assertSending(next);
        next.post();
        waiters.resolve(next, undefined);
      } catch (error) {
        waiters.reject(next, error);
      }
    }
  }

  /** The one that may post now, if there is one, of those that wait longest: thousands can wait behind them. */
  #nextWaiting(): Waiting | undefined {
    return [this.#sending.first, this.#operating.first]
      .filter((waiting) => waiting !== undefined && this.#mayPost(waiting))
      .sort((a, b) => a!.number - b!.number)[0];
  }

  /** Waits until the device of the peer has acknowledged everything that was posted. */
  async flush(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const count = this.#outbox.posted;
    this.#read();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#outbox.completed >= count) return;
    const flushed = this.#flushing.wait({ count }, signal);
    this.#look();
    await flushed;
  }

  /** Sends no more messages. Those that wait for credits are sent first. */
  async end(signal: AbortSignal | undefined): Promise<void> {
    const post = (): void => {
      if (!this.#protocol.ended) this.#control(END);
    };
    await this.#post({ needs: "order", post }, signal);
  }

  /** This end closes the connection: it tells the peer, and ends the waits of callers. */
  async leave(reason: Error): Promise<void> {
    const reading = this.#readRest();
    if (reading !== undefined) await reading;
    this.#closed.resolve({ reason: "closed here" });
    this.#rejectSends(reason);
    this.#serveReceives();
    this.messages.rejectAll(reason);
    this.writes.rejectAll(reason);
    if (!this.isOver) this.#control(BYE);
  }

  /**
   * Reads what has come, for the last time. No receives are posted: a peer that goes on sending does not prolong it. Returns
   * what to wait for if it takes long.
   */
  #readRest(): Promise<void> | undefined {
    this.#isEnding = true;
    return this.#seat.queue.readRestInTurns();
  }

  #read(): void {
    if (this.#failure === undefined) this.#seat.queue.read();
  }

  #control(type: FrameType): void {
    if (this.#outbox.control(this.#protocol.frame(type))) this.#protocol.sent(type);
  }

  /** Promises to take more messages, if there are receives for them, and tells the peer. */
  #giveCredits(): void {
    if (this.#isEnding || this.#failure !== undefined) return;
    let wanted = this.#protocol.wanted(this.#inbox.isSingle);
    while (wanted-- > 0 && this.#inbox.post()) this.#protocol.promise();
    if (this.#protocol.owesCredits) this.#control(CREDIT);
  }

  /** Called once in a while. */
  checkPeer(): void {
    if (this.isOver) return;
    try {
      this.#outbox.checkPeer();
    } catch (error) {
      this.fail(error);
    }
    this.#look();
  }

  /** A request is flushed after the one that has failed. If the latter is one of the peer, this end does not see it. */
  async #endFlushed(flushed: WorkCompletion): Promise<void> {
    await nextTurn();
    if (this.#hasEnded()) return;
    if (this.#failure === undefined) this.#seat.queue.readRest();
    this.#endBy(broken(new WorkCompletionError(flushed), ELSEWHERE));
  }

  serve(): void {
    if (this.#failure !== undefined) return;
    if (this.#flushing.size > 0) this.#serveFlushes();
    if (this.#hasReceived) {
      this.#hasReceived = false;
      this.#giveCredits();
      this.#serveReceives();
    }
    if (this.#hasWaiting) this.#serveSends();
    this.#look();
  }

  #serveFlushes(): void {
    for (const waiter of this.#flushing.all()) {
      if (waiter.count > this.#outbox.completed) break;
      this.#flushing.resolve(waiter, undefined);
    }
  }

  #serveReceives(): void {
    this.messages.serve();
    this.writes.serve();
  }

  take(batch: WorkCompletionList, index: number): void {
    if (this.#failure !== undefined) return;
    const id = batch.wrIdLow(index);
    const status = batch.status(index);
    if (status === WcStatus.WR_FLUSH_ERR) this.#noteFlushed(batch.at(index));
    else if (status !== WcStatus.SUCCESS) {
      const cause = new WorkCompletionError(batch.at(index));
      if (id !== RECEIVE && id !== CHECK) this.#outbox.fail(cause);
      this.#endBy(broken(cause));
    } else if (id === RECEIVE) this.#receiveFrame(batch, index);
    else this.#outbox.complete();
  }

  #noteFlushed(completion: WorkCompletion): void {
    if (this.#isFlushed) return;
    this.#isFlushed = true;
    void this.#endFlushed(completion);
  }

  #receiveFrame(batch: WorkCompletionList, index: number): void {
    this.#hasReceived = true;
    const slot = this.#inbox.arrived();
    const immData = batch.wcFlags(index) & WcFlags.WITH_IMM ? batch.immData(index) : 0;
    const isWrite = batch.opcode(index) === WcOpcode.RECV_RDMA_WITH_IMM;
    let type: FrameType;
    try {
      type = isWrite ? this.#protocol.receiveWrite() : this.#protocol.receive(immData);
    } catch (error) {
      return this.fail(error);
    }
    if (type === DATA) return this.#addMessage(slot, batch.byteLen(index));
    if (type === WRITE) return this.#addWrite(slot, immData);
    // Else a peer that goes on sending would keep the last reading from ending.
    if (!this.#isEnding) this.#inbox.repost(slot);
    if (type === HELLO) this.#greet();
    else if (type === BYE) this.#peerLeft();
  }

  #addMessage(slot: Slot, length: number): void {
    this.#inbox.add(slot, length);
    this.#counts.received++;
    this.#counts.bytesReceived += length;
  }

  #addWrite(slot: Slot, imm: number): void {
    this.#written.push(imm);
    this.#inbox.free(slot);
    this.#counts.writesReceived++;
  }

  #greet(): void {
    // Not before: to check a peer that is not ready yet breaks the connection.
    this.#device.keepAlive.add(this);
    this.#greeted.resolve();
  }

  #peerLeft(): void {
    this.#device.keepAlive.delete(this);
    this.#closed.resolve({ reason: "closed by the peer" });
    this.#rejectSends(peerLeft());
    this.#greeted.reject(peerLeft());
  }

  /** Messages that were received stay. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#closed.resolve({ reason: "broken", error: asError(reason) });
    this.#device.keepAlive.delete(this);
    this.#outbox.failAll(reason);
    this.#greeted.reject(reason);
    this.#rejectSends(reason);
    this.#flushing.rejectAll(reason);
    this.#serveReceives();
    this.#look();
  }

  /** The connection has ended outside of the queue pair. What came before stays. */
  async break(reason: Error): Promise<void> {
    await this.#readRest();
    this.#endBy(reason);
  }

  /** What happens to a connection that the peer has closed is only the consequence. */
  #endBy(reason: Error): void {
    this.fail(this.#protocol.peerLeft ? peerLeft() : reason);
  }

  /** Ends all waits. Messages that were received can still be taken. */
  close(reason: Error): void {
    this.#isEnding = true;
    if (this.#failure === undefined) this.#seat.queue.readRest();
    this.#inbox.keep();
    this.#closed.resolve({ reason: "closed here" });
    this.fail(reason);
    this.#failure = reason;
    this.messages.rejectAll(reason);
    this.writes.rejectAll(reason);
  }

  /** The queue pair is destroyed: others may use the memory of the slots. */
  release(): void {
    this.#inbox.release();
    this.#outbox.release();
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

const ELSEWHERE =
  ". The error of the peer tells the cause: the device may have refused its request";

function broken(cause: WorkCompletionError, where = ""): Error {
  const message = `The connection is broken. ${cause.message}${where}`;
  return new Deno.errors.ConnectionReset(message, { cause });
}
