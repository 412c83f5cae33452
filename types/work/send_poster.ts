import type { SendTracker } from "../completion/send_tracker.ts";
import type { VerbsError } from "../core/errors.ts";
import { BadWr, type PostVerb } from "./bad_wr.ts";
import { bufferOf } from "./request_list.ts";
import { assertNoRun, Scratch } from "./scratch.ts";
import type { SendRules } from "./check_send.ts";
import { noteSends, noteSome, prepareSends, SendRequests } from "./send_requests.ts";
import type { SendRequest } from "./work_request.ts";

/** What can be posted to a send queue: one send, several, or a prepared list. */
export type Sends = SendRequest | readonly SendRequest[] | SendRequests;

/** Prepares the sends of one queue pair, and notes which address handles they use. */
export class SendPoster {
  readonly #badWr: BadWr;
  readonly #tracker: SendTracker | undefined;
  readonly #scratch: Scratch<SendRequest, SendRequests>;
  /** The rules of the queue pair. A change makes every list be checked again. */
  rules: SendRules;
  /** The last argument of the verb. */
  readonly badWr: Deno.PointerObject;
  /** The run that was prepared last. */
  #list: SendRequests | undefined;
  #start = 0;
  #count = 0;

  /**
   * Prepares the sends of one queue pair.
   *
   * @param verb The verb that posts them.
   * @param rules What the sends must fulfil.
   * @param maxSge Scatter/gather elements that sends given as objects have room for.
   * @param tracker Datagrams: counts the sends, so that their address handles are kept.
   */
  constructor(
    verb: PostVerb,
    rules: SendRules,
    maxSge: number,
    tracker: SendTracker | undefined,
  ) {
    this.#badWr = new BadWr(verb);
    this.badWr = this.#badWr.pointer;
    this.rules = rules;
    this.#tracker = tracker;
    this.#scratch = new Scratch((capacity) =>
      new SendRequests({ capacity, maxSge: Math.max(1, maxSge) })
    );
  }

  /**
   * Reads and checks sends. Code of the caller runs only here.
   *
   * @param requests One send, an array, or a prepared list.
   * @param count How many of a prepared list to post. If it is left out, all from `start` on.
   * @param start The first of a prepared list to post. 0 if left out.
   * @returns The pointer to post them by; `null` if there are none.
   */
  prepare(
    requests: Sends,
    count: number | undefined,
    start: number | undefined,
  ): Deno.PointerObject | null {
    if (requests instanceof SendRequests) {
      return this.#prepare(requests, start, count);
    }
    assertNoRun(count, start);
    const filled = this.#scratch.fill(requests);
    return filled === null ? null : this.#prepare(filled, 0, this.#scratch.count);
  }

  #prepare(
    list: SendRequests,
    start: number = 0,
    count: number = list.capacity - start,
  ): Deno.PointerObject {
    this.#list = list;
    this.#start = start;
    this.#count = count;
    return prepareSends(list, start, count, this.rules);
  }

  /** Notes that the run that was prepared last was posted. */
  posted(): void {
    if (this.#tracker !== undefined) noteSends(this.#list!, this.#tracker);
  }

  /** The error of the run that was prepared last. Requests that may be in the queue count as posted. */
  error(result: number): VerbsError {
    const list = this.#list!;
    const posted = this.#badWr.postedBefore(bufferOf(list), this.#start);
    if (this.#tracker !== undefined) {
      noteSome(list, this.#start, posted ?? this.#count, this.rules, this.#tracker);
    }
    return this.#badWr.error(result, posted);
  }
}
