import { Deadline } from "../../wait/deadline.ts";
import type { RcSettings } from "./rc_options.ts";

/** The peer is silent on its TCP connection. */
export const NO_ADDRESS =
  ": the peer has not sent its address. Its program may hang, or not be one of this library";

/** The peer is silent on the connection of the queue pair. */
export const ANSWERED =
  ": the peer has answered, and then sent no first message. Its program may hang, or packets of the " +
  "connection are dropped (UDP port 4791)";

/** An attempt to connect: what ends it, and the step that is in progress. */
export class Attempt implements Disposable {
  /**
   * What it waits for, as the end of a sentence: the likely reason if it takes too long. It is empty, or has a colon before
   * it.
   */
  step: string;
  readonly #refusal: AbortController = new AbortController();
  readonly #deadline: Deadline;

  constructor(
    { connectTimeout, signal }: Pick<RcSettings, "connectTimeout" | "signal">,
    step: string = "",
    closing?: AbortSignal,
  ) {
    this.step = step;
    const late = (): Error =>
      new Deno.errors.TimedOut(
        `Cannot connect: it took longer than ${connectTimeout} ms${this.step}`,
      );
    this.#deadline = new Deadline(connectTimeout, late, [signal, closing, this.#refusal.signal]);
  }

  /** It aborts when the attempt has ended for another reason than its own failure. */
  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  /** This end does not want it any more. */
  refuse(reason: Error): void {
    this.#refusal.abort(reason);
  }

  get isRefused(): boolean {
    return this.#refusal.signal.aborted;
  }

  /** Does a part of it. If the attempt has ended meanwhile, the reason of that is the error. */
  async do<T>(body: () => Promise<T>): Promise<T> {
    return await unlessAborted(this.signal, body);
  }

  /** Ends the time. */
  [Symbol.dispose](): void {
    this.#deadline[Symbol.dispose]();
  }
}

/** If the signal aborts, its reason is the error. */
export async function unlessAborted<T>(signal: AbortSignal, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
