/**
 * What posting needs of the queue that it posts to.
 *
 * @module
 */

import type { SendTracker } from "../completion/send_tracker.ts";
import type { VerbsError } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import type { SendRules } from "./check_send.ts";
import { assertNoRun, BadWr, type PostVerb, Scratch } from "./posting.ts";
import type { RecvRequests, RecvRules } from "./recv_requests.ts";
import * as recvs from "./recv_requests.ts";
import { bufferOf } from "./request_list.ts";
import { noteBinds, noteSome, SendRequests } from "./send_requests.ts";
import type { RecvRequest, SendRequest } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { prepareRecvs, RecvRequests: Prepared } = recvs;

/** The parts of posting that all sends of one queue pair share. */
export class SendPoster {
  readonly #qp: Resource;
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
   * @param qp The queue pair.
   * @param verb The verb that posts them.
   * @param rules What the sends must fulfil.
   * @param maxSge Scatter/gather elements that sends given as objects have room for.
   * @param tracker Datagrams: counts the sends, so that their address handles are kept.
   */
  constructor(
    qp: Resource,
    verb: PostVerb,
    rules: SendRules,
    maxSge: number,
    tracker: SendTracker | undefined,
  ) {
    this.#qp = qp;
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
    noteBinds(list, start, posted ?? count, this.#qp);
    if (this.tracker !== undefined) {
      noteSome(list, start, posted ?? count, this.rules, this.tracker);
    }
    return this.#badWr.error(result, posted);
  }
}

/**
 * What can be posted to a receive queue: one receive, several, or a prepared list.
 *
 * @category Work requests
 */
export type Receives = RecvRequest | readonly RecvRequest[] | RecvRequests;

/**
 * Prepares the receives of one queue. Queue pairs, work queues and shared receive queues post them with different verbs:
 *
 * ```ts ignore
 * const first = poster.prepare(requests, count, start);
 * if (first === null) return;
 * const result = verbs().ibv_post_recv(qp.unsafeHandle, first, poster.badWr);
 * if (result !== 0) throw poster.error(result);
 * ```
 */
export class RecvPoster {
  readonly #badWr: BadWr;
  readonly #rules: RecvRules;
  readonly #scratch: Scratch<RecvRequest, RecvRequests>;
  /** The last argument of the verb. */
  readonly badWr: Deno.PointerObject;
  /** The run that was prepared last. */
  #list: RecvRequests | undefined;
  #start = 0;

  /** Prepares the receives of one queue for a verb. */
  constructor(verb: PostVerb, rules: RecvRules) {
    this.#badWr = new BadWr(verb);
    this.badWr = this.#badWr.pointer;
    this.#rules = rules;
    const maxSge = Math.max(1, rules.maxSge);
    this.#scratch = new Scratch((capacity) => new Prepared({ capacity, maxSge }));
  }

  /**
   * Reads and checks receives. Code of the caller runs only here.
   *
   * @param requests One receive, an array, or a prepared list.
   * @param count How many of a prepared list to post. If it is left out, all from `start` on.
   * @param start The first of a prepared list to post. 0 if left out.
   * @returns The pointer to post them by; `null` if there are none.
   */
  prepare(
    requests: Receives,
    count: number | undefined,
    start: number | undefined,
  ): Deno.PointerObject | null {
    if (requests instanceof Prepared) {
      return this.#prepare(requests, start, count);
    }
    assertNoRun(count, start);
    const filled = this.#scratch.fill(requests);
    return filled === null ? null : this.#prepare(filled, 0, this.#scratch.count);
  }

  #prepare(
    list: RecvRequests,
    start: number = 0,
    count: number = list.capacity - start,
  ): Deno.PointerObject {
    this.#list = list;
    this.#start = start;
    return prepareRecvs(list, start, count, this.#rules);
  }

  /** The error of the run that was prepared last. */
  error(result: number): VerbsError {
    const buffer = bufferOf(this.#list!);
    return this.#badWr.error(result, this.#badWr.postedBefore(buffer, this.#start));
  }
}
