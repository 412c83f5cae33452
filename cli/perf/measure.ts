/** Messages back and forth, and messages one way, timed. */

import { WorkCompletions } from "../../mod.ts";
import { CommandError } from "../shell/command.ts";
import { SEND, type Side } from "../peer/endpoint.ts";

/** Work completions to poll for at once. */
const BATCH = 64;

/** Empty polls, a few milliseconds of them, after which other tasks may run. A pause costs a millisecond. */
const POLLS_PER_PAUSE = 0x8000;

/** Datagrams may still be on their way when the sender is done. */
const GRACE_MS = 200;

/** Messages back and forth before the measurement, in which V8 compiles the code. */
const WARM_UP = 2000;

/** One end of a measurement. All messages use the same buffer. */
export class Meter {
  readonly #side: Side;
  readonly #timeout: number;
  readonly #rxDepth: number;
  readonly #batch: WorkCompletions = new WorkCompletions(BATCH);
  /** Receives that are posted. */
  #posted: number;
  /** Messages since the beginning of a phase. */
  #sent = 0;
  #received = 0;

  /** Measures with the objects of one side, whose receives are posted. */
  constructor(side: Side, rxDepth: number, timeout: number) {
    this.#side = side;
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
    const warmUp = Math.min(WARM_UP, iters);
    const latencies = new Float64Array(iters - 2);
    const all = warmUp + iters;
    const lead = first ? 0 : 1;
    let posted = 0;
    let before = 0;
    await this.#until(() => this.#received >= all && this.#sent >= all, () => {
      // The next message goes when the one before is answered, and its own send has completed.
      const isNext = this.#received >= posted + lead && this.#sent >= posted;
      if (!isNext || posted === all) return;
      const now = performance.now();
      // The first round trip includes the start of the peer.
      const counted = posted - warmUp - 2;
      if (counted >= 0) latencies[counted] = (now - before) * 1000 / 2;
      before = now;
      posted++;
      this.#side.postSend(0);
    });
    this.#sent = this.#received = 0;
    return latencies;
  }

  /** Sends messages as fast as it goes, with some under way at once. */
  async send(messages: number, depth: number): Promise<void> {
    let posted = 0;
    await this.#until(() => this.#sent >= messages, () => {
      while (posted < messages && posted - this.#sent < depth) {
        this.#side.postSend(0);
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
    let [first, last, seen] = [0, 0, 0];
    let done = false;
    let grace: ReturnType<typeof setTimeout> | undefined;
    const told = sent.catch(() => {}).then(() => {
      grace = setTimeout(() => done = true, GRACE_MS);
    });
    await this.#until(() => this.#received >= messages || done && seen === this.#received, () => {
      if (this.#received > seen) {
        last = performance.now();
        if (seen === 0) first = last;
      }
      seen = this.#received;
    });
    await told;
    clearTimeout(grace);
    await sent;
    return { received: this.#received, microseconds: (last - first) * 1000 };
  }

  /** Polls until all is done. `step` runs after each poll that found something, and at first. */
  async #until(isDone: () => boolean, step: () => void): Promise<void> {
    let idle = 0;
    let silentSince = 0;
    step();
    while (!isDone()) {
      if (this.#poll() > 0) {
        idle = 0;
        step();
        continue;
      }
      if (++idle % POLLS_PER_PAUSE !== 0) continue;
      const now = performance.now();
      if (idle === POLLS_PER_PAUSE) silentSince = now;
      if (now - silentSince > this.#timeout * 1000) throw this.#silence();
      // Lets the conversation by TCP go on.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  #silence(): CommandError {
    const counts = `${this.#sent} sent and ${this.#received} received messages`;
    return new CommandError(`after ${counts}, nothing completed within ${this.#timeout} s`);
  }

  #poll(): number {
    const batch = this.#batch;
    const count = this.#side.cq.pollInto(batch);
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) batch.at(i).check();
      if (batch.wrIdLow(i) === SEND) this.#sent++;
      else {
        this.#received++;
        this.#posted--;
      }
    }
    if (this.#posted <= this.#rxDepth / 2) {
      this.#side.postRecv(this.#rxDepth - this.#posted);
      this.#posted = this.#rxDepth;
    }
    return count;
  }
}
