/**
 * Messages back and forth, and messages one way, timed.
 *
 * @module
 */

import { WorkCompletions } from "../../mod.ts";
import { CommandError } from "../command.ts";
import type { Endpoint } from "../pingpong/endpoint.ts";
import { SEND } from "../pingpong/ping_pong.ts";

/** Work completions to poll for at once. */
const BATCH = 64;

/** Reading the clock, and letting other tasks run, costs as much as many polls. */
const POLLS_PER_PAUSE = 4096;

/** Datagrams may still be on their way when the sender is done. */
const GRACE_MS = 200;

/** The settings that both ends share. */
export interface Settings {
  /** The kind of queue pair. */
  readonly kind: "ud" | "rc" | "uc";
  /** Bytes of a message. */
  readonly size: number;
  /** Messages back and forth. */
  readonly iters: number;
  /** Messages one way. */
  readonly messages: number;
  /** Path MTU of a connection. */
  readonly mtu: number;
}

/** One end of a measurement. All messages use the same buffer. */
export class Meter {
  readonly #endpoint: Endpoint;
  readonly #timeout: number;
  readonly #rxDepth: number;
  readonly #batch: WorkCompletions = new WorkCompletions(BATCH);
  /** Receives that are posted. */
  #posted: number;
  #sent = 0;
  #received = 0;

  /** Measures with the objects of one side, whose receives are posted. */
  constructor(endpoint: Endpoint, rxDepth: number, timeout: number) {
    this.#endpoint = endpoint;
    this.#rxDepth = rxDepth;
    this.#posted = rxDepth;
    this.#timeout = timeout;
  }

  /**
   * Sends and answers messages. The result is the half of each round trip in microseconds.
   *
   * @param first whether this end sends the first message.
   */
  async pingPong(iters: number, first: boolean): Promise<Float64Array> {
    const latencies = new Float64Array(iters - 1);
    let count = 0;
    let start = 0;
    this.#reset();
    if (first) this.#endpoint.postSend(0);
    let answered = first ? 1 : 0;
    let before = performance.now();
    await this.#until(() => this.#received >= iters && this.#sent >= iters, () => {
      // The next message is sent when the one before is received, and its own send has completed.
      if (this.#received < answered + (first ? 0 : 1) || this.#sent < answered) return;
      if (answered === iters) return;
      const now = performance.now();
      // The first round trip includes the start of the peer.
      if (start++ > 0) latencies[count++] = (now - before) * 1000 / 2;
      before = now;
      this.#endpoint.postSend(0);
      answered++;
    });
    return latencies.subarray(0, Math.max(count, 1));
  }

  /** Sends messages as fast as it goes, with some under way at once. */
  async send(messages: number, depth: number): Promise<void> {
    this.#reset();
    let posted = 0;
    await this.#until(() => this.#sent >= messages, () => {
      while (posted < messages && posted - this.#sent < depth) {
        this.#endpoint.postSend(0);
        posted++;
      }
    });
  }

  /**
   * Receives messages until there are enough, or no more come after the sender is done.
   *
   * @param sent the number that was sent, once the sender is done.
   */
  async receive(
    messages: number,
    sent: Promise<number>,
  ): Promise<{ received: number; microseconds: number }> {
    this.#reset();
    let [first, last, seen] = [0, 0, 0];
    let done = false;
    const finish = (): void => void setTimeout(() => done = true, GRACE_MS);
    sent.then(finish, finish);
    await this.#until(() => this.#received >= messages || done && seen === this.#received, () => {
      if (this.#received > seen) {
        last = performance.now();
        if (seen === 0) first = last;
      }
      seen = this.#received;
    });
    await sent;
    return { received: this.#received, microseconds: (last - first) * 1000 };
  }

  #reset(): void {
    this.#sent = 0;
    this.#received = 0;
  }

  /** Polls until all is done. `step` runs after each poll that found something, and at first. */
  async #until(isDone: () => boolean, step: () => void): Promise<void> {
    let silentSince = performance.now();
    step();
    for (let polls = 1; !isDone(); polls++) {
      const count = this.#poll();
      if (count > 0) step();
      if (count > 0) silentSince = 0;
      if (polls % POLLS_PER_PAUSE !== 0) continue;
      const now = performance.now();
      if (silentSince === 0) silentSince = now;
      if (now - silentSince > this.#timeout * 1000) {
        throw new CommandError(
          `after ${this.#sent} sent and ${this.#received} received messages, nothing completed ` +
            `within ${this.#timeout} s`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  #poll(): number {
    const batch = this.#batch;
    const count = this.#endpoint.cq.pollInto(batch);
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) batch.at(i).check();
      if (batch.wrIdLow(i) === SEND) this.#sent++;
      else {
        this.#received++;
        this.#posted--;
      }
    }
    if (this.#posted <= this.#rxDepth / 2) {
      this.#endpoint.postRecv(this.#rxDepth - this.#posted);
      this.#posted = this.#rxDepth;
    }
    return count;
  }
}
