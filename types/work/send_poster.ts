import type { SendTracker } from "../completion/send_tracker.ts";
import type { VerbsError } from "../core/errors.ts";
import { assertNoRun, BadWr, type PostVerb, Scratch } from "./posting.ts";
import { bufferOf } from "./request_list.ts";
import type { SendRules } from "./check_send.ts";
import { noteBinds, noteSome, SendRequests } from "./send_requests.ts";
import type { SendRequest } from "./work_request.ts";

/** The parts of posting that all sends of one queue pair share. */
export class SendPoster {
  readonly #badWr: BadWr;
  readonly #scratch: Scratch<SendRequest, SendRequests>;
  /** Datagrams: counts the sends, so that their address handles are kept. */
  readonly tracker: SendTracker | undefined;
  /** The rules of the queue pair. A change makes every list be checked again. */
  rules: SendRules;
  /** The last argument of the verb. */
  readonly badWr: Deno.PointerObject;

  /**
   * Prepares for the sends of one queue pair.
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
    this.tracker = tracker;
    this.#scratch = new Scratch((capacity) =>
      new SendRequests({ capacity, maxSge: Math.max(1, maxSge) })
    );
  }

  /** Reads sends that are given as objects into a list; `null` if there are none. Code of the caller runs here. */
  fill(
    requests: SendRequest | readonly SendRequest[],
    count: number | undefined,
    start: number | undefined,
  ): SendRequests | null {
    assertNoRun(count, start);
    return this.#scratch.fill(requests);
  }

  /** The number of sends that were filled in last. */
  get filled(): number {
    return this.#scratch.count;
  }

  /** The error of a run that was refused. Requests that may be in the queue count as posted. */
  error(result: number, list: SendRequests, start: number, count: number): VerbsError {
    const posted = this.#badWr.postedBefore(bufferOf(list), start);
    noteBinds(list, start, posted ?? count);
    if (this.tracker !== undefined) {
      noteSome(list, start, posted ?? count, this.rules, this.tracker);
    }
    return this.#badWr.error(result, posted);
  }
}
