/** Messages back and forth, and messages one way, timed. */

import { WorkCompletionList } from "@rdma/ibverbs";
import { CommandError } from "../shell/command.ts";
import { SEND, type Side } from "../peer/endpoint.ts";
import type { Counted } from "./report.ts";

/** Work completions to poll for at once. */
const BATCH = 64;

/** Empty polls, a few milliseconds of them, after which other tasks may run. A pause costs a millisecond. */
const POLLS_PER_PAUSE = 0x8000;

/** Polls that found something, after which progress is shown. */
const POLLS_PER_SHOW = 0x200;

/** Datagrams may still be on their way when the sender is done. */
const GRACE_MS = 200;

/** Before the measurement V8 compiles the code: messages back and forth, but not for longer than this. */
const WARM_UP = 2000;
const WARM_UP_MS = 1000;

/** How much is measured: a number of messages, and a limit of time. */
export interface Goal {
  readonly messages: number;
  readonly ms: number;
}

/** What a client measures with messages back and forth. */
export interface Asked {
  /** In microseconds: the half of each round trip, or all of it for RDMA reads. */
  readonly latencies: Float64Array;
  /** Messages that this end sent, and how many of them came before the first measured latency. */
  readonly asked: number;
  readonly warmUp: number;
}

/** What a measurement needs in addition to one side. */
export interface MeterInit {
  /** Receives of each queue pair. They are posted. */
  readonly rxDepth: number;
  /** The longest time in seconds without a completion. */
  readonly timeout: number;
  /** Called now and then with the messages of a phase. */
  readonly show: (phase: string, count: number) => void;
}

/** One end of a measurement. All messages use the same buffer. */
export class Meter {
  readonly #side: Side;
  readonly #init: MeterInit;
  readonly #batch: WorkCompletionList = new WorkCompletionList(BATCH);
  /** Receives that are posted, of each queue pair. */
  readonly #posted: number[];
  /** Whether messages arrive in memory without a completion: RDMA writes, of which the last byte is the number. */
  #watches = false;
  #phase = "latency";
  /** Messages since the beginning of a phase. */
  #sent = 0;
  #received = 0;

  constructor(side: Side, init: MeterInit) {
    this.#side = side;
    this.#init = init;
    this.#posted = new Array<number>(side.queuePairs).fill(init.rxDepth);
  }

  /** Sends a message whenever the one before is answered. */
  async ask(goal: Goal): Promise<Asked> {
    const reads = this.#side.verb === "read";
    const latencies: number[] = [];
    const start = performance.now();
    let [asked, warmUp, before, begin] = [0, 0, 0, Infinity];
    let done = false;
    this.#begin();
    await this.#until(() => done, () => {
      // The next message goes when its own send has completed, too.
      if (this.#sent < asked || !reads && this.#received < asked) return;
      const now = performance.now();
      if (begin < Infinity) {
        latencies.push((now - before) * 1000 / (reads ? 1 : 2));
      } else if (asked >= Math.min(WARM_UP, goal.messages) || now - start >= WARM_UP_MS) {
        [begin, warmUp] = [now, asked];
      }
      done = latencies.length >= goal.messages ||
        latencies.length > 1 && now - begin >= goal.ms;
      if (done) return;
      before = now;
      this.#postNumbered(++asked);
    });
    return { latencies: new Float64Array(latencies), asked, warmUp };
  }

  /**
   * Answers messages. The result is the half of each round trip in microseconds.
   *
   * @param asked the number of messages, once all are answered.
   */
  async answer(asked: Promise<number>): Promise<Float64Array> {
    const latencies: number[] = [];
    let [answered, before, all] = [0, 0, Infinity];
    asked.then((count) => all = count, () => all = 0);
    this.#begin();
    await this.#until(() => answered >= all && this.#sent >= answered, () => {
      if (this.#received <= answered || this.#sent < answered) return;
      const now = performance.now();
      if (answered > 0) latencies.push((now - before) * 1000 / 2);
      before = now;
      this.#postNumbered(++answered);
    });
    await asked;
    this.#end();
    return new Float64Array(latencies);
  }

  /** Sends messages as fast as possible, with several in progress at once, and from each queue pair in turn. */
  async send({ messages, ms }: Goal, depth: number): Promise<Counted> {
    this.#end();
    const start = performance.now();
    const clock = new Clock();
    let [posted, last] = [0, messages];
    await this.#until(() => posted >= last && this.#sent >= posted, () => {
      clock.saw(this.#sent);
      // When the time is over, nothing more is sent.
      if (performance.now() - start >= ms) last = Math.min(last, posted);
      while (posted < last && posted - this.#sent < depth) {
        this.#side.postSend(posted % this.#side.queuePairs);
        posted++;
      }
    });
    return { sent: posted, ...clock.counted };
  }

  /**
   * Receives messages until all are there, or no more come after the sender is done.
   *
   * @param sent the number that was sent, once the sender is done.
   */
  async receive(sent: Promise<number>): Promise<Counted> {
    const clock = new Clock();
    let all = Infinity;
    let late = false;
    let grace: ReturnType<typeof setTimeout> | undefined;
    const counted = sent.then((count) => all = count, () => all = 0).then(() => {
      grace = setTimeout(() => late = true, GRACE_MS);
    });
    const isOver = (): boolean => late && clock.counted.received === this.#received;
    await this.#until(
      () => this.#received >= all || isOver(),
      () => clock.saw(this.#received),
    );
    await counted;
    clearTimeout(grace);
    return { sent: await sent, ...clock.counted };
  }

  #begin(): void {
    this.#watches = this.#side.verb === "write";
  }

  /** The phase of latencies is over. */
  #end(): void {
    this.#watches = false;
    this.#phase = "bandwidth";
    this.#sent = this.#received = 0;
  }

  #postNumbered(number: number): void {
    if (this.#watches) this.#side.message[this.#side.message.length - 1] = number;
    this.#side.postSend(0);
  }

  /** Polls until all is done. `step` runs after each poll that found something, and at first. */
  async #until(isDone: () => boolean, step: () => void): Promise<void> {
    const { timeout, show } = this.#init;
    let idle = 0;
    let busy = 0;
    let silentSince = 0;
    step();
    while (!isDone()) {
      if (this.#poll()) {
        idle = 0;
        if (++busy % POLLS_PER_SHOW === 0) show(this.#phase, this.#count);
        step();
        continue;
      }
      if (++idle % POLLS_PER_PAUSE !== 0) continue;
      show(this.#phase, this.#count);
      const now = performance.now();
      if (idle === POLLS_PER_PAUSE) silentSince = now;
      if (now - silentSince > timeout * 1000) throw this.#silence();
      // Lets the exchange over TCP go on.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  get #count(): number {
    return Math.max(this.#sent, this.#received);
  }

  #silence(): CommandError {
    const counts = `${this.#sent} sent and ${this.#received} received messages`;
    return new CommandError(`after ${counts}, nothing completed within ${this.#init.timeout} s`);
  }

  #poll(): boolean {
    const batch = this.#batch;
    const { cq, incoming } = this.#side;
    const count = cq.pollInto(batch);
    for (let i = 0; i < count; i++) {
      if (batch.status(i) !== 0) batch.at(i).check();
      if (batch.wrIdLow(i) === SEND) this.#sent++;
      else this.#arrived(batch.qpNum(i));
    }
    const isWritten = this.#watches && incoming.at(-1) === (this.#received + 1 & 0xff);
    if (isWritten) this.#received++;
    return count > 0 || isWritten;
  }

  /** Posts receives again, many at a time. */
  #arrived(qpNum: number): void {
    const [side, { rxDepth }] = [this.#side, this.#init];
    const index = side.queuePairs === 1 ? 0 : side.indexOf(qpNum);
    this.#received++;
    const left = --this.#posted[index]!;
    if (left > rxDepth / 2) return;
    side.postRecv(rxDepth - left, index);
    this.#posted[index] = rxDepth;
  }
}

/** Times the first and the last of some messages. */
class Clock {
  #received = 0;
  #first = 0;
  #last = 0;

  /** Call it with the number of messages that have arrived so far. */
  saw(received: number): void {
    if (received === this.#received) return;
    this.#last = performance.now();
    if (this.#received === 0) this.#first = this.#last;
    this.#received = received;
  }

  get counted(): Omit<Counted, "sent"> {
    return { received: this.#received, microseconds: (this.#last - this.#first) * 1000 };
  }
}
