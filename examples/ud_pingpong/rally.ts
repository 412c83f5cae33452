/** The datagrams' way to and fro. */

import { type WcStatus, type WorkCompletion, WorkCompletions } from "@rdma/ibverbs";
import { type Endpoint, RECV, SEND } from "./endpoint.ts";

const SUCCESS: WcStatus = 0;

/** A look at the clock costs as much as many polls. */
const POLLS_PER_LOOK = 0x1_0000;

/** How long a rally is. */
export interface Length {
  /** Messages to send, and to receive. */
  readonly iters: number;
  /** Receives to post at a time; as many are posted already. */
  readonly rxDepth: number;
  /** Seconds without a completion after which it is given up. */
  readonly timeout: number;
}

/** Keeps a message under way, until as many were sent and received as there are to be. */
export class Rally {
  readonly #endpoint: Endpoint;
  readonly #length: Length;
  readonly #batch: WorkCompletions = new WorkCompletions(2);
  #sent = 0;
  #received = 0;
  #receives: number;
  /** What must complete before the next message is sent. */
  #pending = RECV;

  /** Called with the first completion of a receive, before anything is sent in answer. */
  onFirst: ((wc: WorkCompletion) => void) | undefined = undefined;

  /** Waits for a message to answer, unless it is to {@linkcode Rally.serve}. */
  constructor(endpoint: Endpoint, length: Length) {
    this.#endpoint = endpoint;
    this.#length = length;
    this.#receives = length.rxDepth;
  }

  /** Sends the first message. */
  serve(): void {
    this.#endpoint.postSend();
    this.#pending |= SEND;
  }

  /** Plays to the end, polling all the time. */
  poll(): void {
    let silentSince: number | undefined;
    while (!this.#isOver()) {
      if (this.turn(POLLS_PER_LOOK)) {
        silentSince = undefined;
        continue;
      }
      const now = performance.now();
      silentSince ??= now;
      if (now - silentSince > this.#length.timeout * 1000) throw this.#silence();
    }
  }

  /** Polls until something completes, at most that many times, and reacts; returns whether something did. */
  turn(most: number): boolean {
    for (let polls = 0; polls < most; polls++) {
      if (this.#step() > 0) return true;
    }
    return false;
  }

  /** Plays to the end, asleep while there is nothing to do. */
  async sleep(): Promise<void> {
    const { cq } = this.#endpoint;
    using watch = this.#watch();
    while (!this.#isOver()) {
      if (this.#step() > 0) continue;
      cq.reqNotify();
      // what came before the queue was armed gives no event
      if (this.#step() === 0) await cq.channel!.getCqEvent({ signal: watch.signal });
    }
  }

  #isOver(): boolean {
    return this.#received >= this.#length.iters && this.#sent >= this.#length.iters;
  }

  /** Polls once and does what the completions ask for; returns how many there were. */
  #step(): number {
    const count = this.#endpoint.cq.pollInto(this.#batch);
    for (let i = 0; i < count; i++) this.#complete(i);
    return count;
  }

  #complete(index: number): void {
    const batch = this.#batch;
    if (batch.status(index) !== SUCCESS) batch.at(index).check();
    const what = batch.wrIdLow(index);
    if (what === SEND) this.#sent++;
    else this.#noteReceived(index);
    this.#pending &= ~what;
    if (this.#pending === 0 && this.#sent < this.#length.iters) {
      this.#endpoint.postSend();
      this.#pending = RECV | SEND;
    }
  }

  #noteReceived(index: number): void {
    if (this.#received++ === 0) this.onFirst?.(this.#batch.at(index));
    if (--this.#receives > 1) return;
    this.#endpoint.postRecv(this.#length.rxDepth - this.#receives);
    this.#receives = this.#length.rxDepth;
  }

  /** A signal that aborts when nothing has completed for too long. One timer watches over all waits. */
  #watch(): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    let seen = -1;
    const timer = setInterval(() => {
      const completed = this.#sent + this.#received;
      if (completed === seen) controller.abort(this.#silence());
      seen = completed;
    }, this.#length.timeout * 1000);
    return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) };
  }

  #silence(): Error {
    const counts = `${this.#sent} messages were sent and ${this.#received} received`;
    return new Error(`Nothing completed for ${this.#length.timeout} s, after ${counts}`);
  }
}
