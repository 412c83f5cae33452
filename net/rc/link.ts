import {
  type QueuePair,
  WcStatus,
  type WorkCompletion,
  WorkCompletionError,
  type WorkCompletionList,
} from "../../mod.ts";
import { orAborted } from "../../wait/abort.ts";
import { nextTurn } from "../../wait/turns.ts";
import { FrameType, peerLeft, Protocol } from "./protocol.ts";
import type { RcDevice } from "./rc_device.ts";
import type { RcSettings } from "./rc_options.ts";
import { Receiver } from "./receiver.ts";
import { type Connection, Sender } from "./sender.ts";
import { AWAITED, EXPECTING, HELD, type QueueShare, type Reader } from "./shared_queue.ts";
import { CHECK, RECEIVE, type Slot } from "./slots.ts";

/**
 * How a connection has ended: see `RcConn.closed`.
 *
 * @category Connections
 */
export interface RcClosed {
  /** Who has ended it: this end, the peer, or an error. */
  readonly reason: "closed here" | "closed by the peer" | "broken";
  /** What has broken it; `undefined` if one of the ends has closed it. */
  readonly error?: Error | undefined;
}

/**
 * Counters of a connection.
 *
 * @category Connections
 */
export interface RcStats {
  /** Messages that have come. */
  readonly received: number;
  /** Their bytes. */
  readonly bytesReceived: number;
  /** Messages that were posted to be sent. */
  readonly sent: number;
  /** Their bytes. */
  readonly bytesSent: number;
  /** Writes of the peer that have a number (`immData`), which `RcConn.writes` gives. */
  readonly writesReceived: number;
  /** Writes of this end that have a number and were posted. */
  readonly writesSent: number;
  /** Messages and writes that have come and were not taken, or are borrowed. Each of them holds a receive. */
  readonly waiting: number;
  /** How many messages and writes with a number this end may send now before the peer takes some. */
  readonly credits: number;
  /** How many of them this end has promised to take and the peer has not yet sent. */
  readonly promised: number;
  /** The bytes of registered memory that messages of the connection use now: when it is closed, those that are borrowed. */
  readonly memory: number;
}

/** The parts of a link that connections share. */
interface LinkParts {
  readonly share: QueueShare;
  /** The slot that its first message comes to. */
  readonly slot: Slot;
  readonly device: RcDevice;
}

/** A connection from its first frame to its end: what sends and what receives, and the completions that they get. */
export class Link implements Reader, Connection {
  readonly sender: Sender;
  readonly receiver: Receiver;
  readonly #share: QueueShare;
  readonly #device: RcDevice;
  readonly #hasEnded: () => boolean;
  readonly #protocol: Protocol;
  readonly #closed: PromiseWithResolvers<RcClosed> = Promise.withResolvers();
  readonly #greeted: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Ends the wait of an end that closes. */
  #peerHasLeft: () => void = () => {};
  #isConnecting = false;
  /** Whether waits for the peer keep the program alive. */
  #isHeld = true;
  #failure: unknown;
  /** A request was flushed: the reason is in another completion. */
  #isFlushed = false;

  /** `hasEnded` says that the connection has ended outside of the queue pair: `Link.break` gets the reason. */
  constructor(
    qp: QueuePair,
    { share, slot, device }: LinkParts,
    { credits, sendDepth }: RcSettings,
    hasEnded: () => boolean,
  ) {
    this.#share = share;
    this.#device = device;
    this.#hasEnded = hasEnded;
    // The connection can break before anything waits for the peer.
    this.#greeted.promise.catch(() => {});
    const { slots } = device;
    const protocol = this.#protocol = new Protocol(credits, 1);
    const sender = this.sender = new Sender(qp, device, sendDepth, protocol, this);
    this.receiver = new Receiver(qp, { slots, slot }, protocol, sender, this);
    share.begin(qp.qpNum, this);
  }

  /** Connects to a peer that has receives for this many messages. An end that the peer waits for gives `answer`. */
  async connect(
    credits: number,
    signal: AbortSignal,
    answer: (() => Promise<void>) | undefined,
  ): Promise<void> {
    this.#protocol.start(credits);
    this.#isConnecting = true;
    this.update();
    if (answer === undefined) this.sender.control(FrameType.HELLO);
    else await answer();
    await orAborted(this.#greeted.promise, signal);
    this.#isConnecting = false;
    this.update();
    if (answer !== undefined) this.sender.control(FrameType.HELLO);
  }

  read(): void {
    if (this.#failure === undefined) this.#share.queue.read();
  }

  spin(): void {
    this.#share.queue.spin();
  }

  /** Says what completions are needed for. */
  update(): void {
    const isOpen = this.#failure === undefined;
    const isSending = isOpen && (this.#isConnecting || this.sender.isAwaited);
    const isReceiving = isOpen && this.receiver.isAwaited;
    this.#share.note(
      (isSending || isReceiving ? AWAITED : 0) |
        (isSending || isReceiving && this.#isHeld ? HELD : 0) |
        (isOpen && this.sender.isExpecting ? EXPECTING : 0),
    );
  }

  /** Sets whether waits for the peer keep the program alive. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.update();
  }

  take(batch: WorkCompletionList, index: number): void {
    if (this.#failure !== undefined) return;
    const id = batch.wrIdLow(index);
    const status = batch.status(index);
    if (status === WcStatus.WR_FLUSH_ERR) void this.#endFlushed(batch.at(index));
    else if (status !== WcStatus.SUCCESS) {
      const cause = new WorkCompletionError(batch.at(index));
      if (id !== RECEIVE && id !== CHECK) this.sender.failOldest(cause);
      this.#endBy(broken(cause));
    } else if (id === RECEIVE) this.#receive(batch, index);
    else this.sender.complete();
  }

  #receive(batch: WorkCompletionList, index: number): void {
    try {
      const type = this.receiver.arrived(batch, index);
      if (type === FrameType.HELLO) this.#greet();
      else if (type === FrameType.BYE) this.#peerLeft();
    } catch (error) {
      this.fail(error);
    }
  }

  serve(): void {
    if (this.#failure !== undefined) return;
    try {
      this.receiver.serve();
      this.sender.serve();
    } catch (error) {
      // It may be called by others that share the queue, or in a turn of nobody's.
      this.fail(error);
    }
    this.update();
  }

  #greet(): void {
    // Not before: to check a peer that is not ready yet breaks the connection.
    this.#device.keepAlive.add(this);
    this.#greeted.resolve();
  }

  /** Called once in a while. */
  checkPeer(): void {
    if (this.#isOver) return;
    try {
      this.sender.checkPeer();
    } catch (error) {
      this.fail(error);
    }
    this.update();
  }

  get #isOver(): boolean {
    return this.#protocol.peerLeft || this.#failure !== undefined;
  }

  get failure(): unknown {
    return this.#failure;
  }

  /** Resolves when it is known how the connection ends. What is found out later is a consequence. */
  get closed(): Promise<RcClosed> {
    return this.#closed.promise;
  }

  /** Counters until now. After the end they are the last ones. */
  get stats(): RcStats {
    this.read();
    const memory = (this.receiver.slots + this.sender.slots) * this.#device.slots.slotSize;
    const counts = { ...this.receiver.counts, ...this.sender.counts };
    return { ...counts, ...this.#protocol.numbers, memory };
  }

  #peerLeft(): void {
    this.#device.keepAlive.delete(this);
    this.#closed.resolve({ reason: "closed by the peer" });
    this.sender.rejectWaiting(peerLeft());
    this.#greeted.reject(peerLeft());
    this.#peerHasLeft();
  }

  /**
   * This end closes the connection: it ends the waits of callers, informs the peer, and waits until all that was sent has
   * arrived. A peer that has left takes nothing, and its device may not answer any more.
   */
  async leave(reason: Error, signal: AbortSignal | undefined): Promise<void> {
    const reading = this.#readRest();
    if (reading !== undefined) await reading;
    this.#closed.resolve({ reason: "closed here" });
    this.sender.rejectWaiting(reason);
    this.receiver.serveWaiting();
    this.receiver.rejectWaiting(reason);
    if (this.#isOver) return;
    this.sender.control(FrameType.BYE);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#peerHasLeft = resolve;
    await Promise.race([this.sender.flush(signal), promise]);
  }

  /**
   * Reads what has come, for the last time. No receives are posted: a peer that goes on sending does not prolong it. Returns
   * what to wait for if it takes long.
   */
  #readRest(): Promise<void> | undefined {
    this.receiver.end();
    return this.#share.queue.readRestInTurns();
  }

  /** The connection has ended outside of the queue pair. What came before stays. */
  async break(reason: Error): Promise<void> {
    await this.#readRest();
    this.#endBy(reason);
  }

  /** A request is flushed after the one that has failed. If the latter is one of the peer, this end does not see it. */
  async #endFlushed(flushed: WorkCompletion): Promise<void> {
    if (this.#isFlushed) return;
    this.#isFlushed = true;
    await nextTurn();
    if (this.#hasEnded()) return;
    if (this.#failure === undefined) this.#share.queue.readRest();
    this.#endBy(broken(new WorkCompletionError(flushed), ELSEWHERE));
  }

  /** What happens to a connection that the peer has closed is only the consequence. */
  #endBy(reason: Error): void {
    this.fail(this.#protocol.peerLeft ? peerLeft() : reason);
  }

  /** Messages that were received stay. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#closed.resolve({ reason: "broken", error: asError(reason) });
    this.#device.keepAlive.delete(this);
    this.#greeted.reject(reason);
    this.sender.fail(reason);
    this.receiver.serveWaiting();
    this.update();
  }

  /** Ends all waits. Messages that were received can still be taken. */
  close(reason: Error): void {
    this.receiver.end();
    if (this.#failure === undefined) this.#share.queue.readRest();
    this.receiver.keep();
    this.#closed.resolve({ reason: "closed here" });
    this.fail(reason);
    this.#failure = reason;
    this.receiver.rejectWaiting(reason);
  }

  /** The queue pair is destroyed: others may use the memory of the slots. */
  release(): void {
    this.receiver.release();
    this.sender.release();
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

const ELSEWHERE = ". The error of the peer has the cause: the device may have refused its request";

function broken(cause: WorkCompletionError, where = ""): Error {
  const message = `The connection is broken. ${cause.message}${where}`;
  return new Deno.errors.ConnectionReset(message, { cause });
}
