/** The exchange of messages. */

import { WcStatus, type WorkCompletion, WorkCompletionList } from "@rdma/ibverbs";
import { RECV, SEND, type Side } from "../peer/endpoint.ts";
import { Deadline } from "../shell/abort.ts";

const SUCCESS: WcStatus = WcStatus.SUCCESS;

/** Reading the clock costs as much as many polls. */
const POLLS_PER_CLOCK = 0x1_0000;

/** How long a ping-pong is. */
export interface Length {
  /** Messages to send, and to receive. */
  readonly iters: number;
  /** Receives to post at a time. As many are posted already. */
  readonly rxDepth: number;
  /** The longest time in seconds without a completion. */
  readonly timeout: number;
}

/** Sends a message back whenever one arrives, until enough are sent and received. */
export class PingPong {
  readonly #side: Side;
  readonly #length: Length;
  readonly #batch: WorkCompletionList;
  #sent = 0;
  #received = 0;
  #receives: number;
  /** For each queue pair, what must complete before it sends the next message: `RECV`, `SEND`. */
  readonly #pending: Uint8Array;

  /** Called with the completion of the first receive, before the answer is sent. */
  onFirst: ((wc: WorkCompletion) => void) | undefined = undefined;

  /** Prepares to answer messages. Call `PingPong.start` to send the first one. */
  constructor(side: Side, length: Length) {
    this.#side = side;
    this.#length = length;
    this.#batch = new WorkCompletionList(2 * side.queuePairs);
    this.#receives = length.rxDepth;
    this.#pending = new Uint8Array(side.queuePairs).fill(RECV);
  }

  /** Sends the first message from each queue pair. */
  start(): void {
    for (let i = 0; i < this.#pending.length; i++) {
      this.#side.postSend(i);
      this.#pending[i] = RECV | SEND;
    }
  }

  /** Runs to the end and polls without a pause. */
  poll(): void {
    let silentSince: number | undefined;
    while (!this.#isOver()) {
      if (this.turn(POLLS_PER_CLOCK)) {
        silentSince = undefined;
        continue;
      }
      const now = performance.now();
      silentSince ??= now;
      const { timeout } = this.#length;
      if (now - silentSince > timeout * 1000) {
        throw new Error(`${this.#silence()} within ${timeout} s`);
      }
    }
  }

  /** Polls until something completes, at most `most` times. Returns whether something did. */
  turn(most: number): boolean {
    for (let polls = 0; polls < most; polls++) {
      if (this.#step() > 0) return true;
    }
    return false;
  }

  /** Runs to the end and sleeps while nothing completes. */
  async sleep(): Promise<void> {
    const { cq } = this.#side;
    using deadline = new Deadline(this.#length.timeout, () => this.#silence());
    const { signal } = deadline;
    while (!this.#isOver()) {
      if (this.#step() > 0) {
        deadline.extend();
        continue;
      }
      cq.reqNotify();
      // Completions that came before reqNotify() make no event.
      if (this.#step() === 0) await cq.channel!.getCqEvent({ signal });
    }
  }

  #isOver(): boolean {
    return this.#received >= this.#length.iters && this.#sent >= this.#length.iters;
  }

  /** Polls once and answers. Returns the number of completions. */
  #step(): number {
    const count = this.#side.cq.pollInto(this.#batch);
    for (let i = 0; i < count; i++) this.#complete(i);
    return count;
  }

  #complete(i: number): void {
    const batch = this.#batch;
    if (batch.status(i) !== SUCCESS) batch.at(i).check();
    const what = batch.wrIdLow(i);
    const index = this.#side.indexOf(batch.qpNum(i));
    if (what === SEND) this.#sent++;
    else this.#noteReceived(i);
    this.#pending[index]! &= ~what;
    if (this.#pending[index] === 0 && this.#sent < this.#length.iters) {
      this.#side.postSend(index);
      this.#pending[index] = RECV | SEND;
    }
  }

  #noteReceived(i: number): void {
    if (this.#received++ === 0) this.onFirst?.(this.#batch.at(i));
    if (--this.#receives > this.#pending.length) return;
    this.#side.postRecv(this.#length.rxDepth - this.#receives);
    this.#receives = this.#length.rxDepth;
  }

  #silence(): string {
    return `After ${this.#sent} sent and ${this.#received} received messages, nothing completed`;
  }
}
