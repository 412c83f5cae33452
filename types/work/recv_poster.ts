import type { VerbsError } from "../core/errors.ts";
import { assertNoRun, BadWr, type PostVerb, Scratch } from "./posting.ts";
import type { RecvRequests, RecvRules } from "./recv_requests.ts";
import * as recvs from "./recv_requests.ts";
import { bufferOf } from "./request_list.ts";
import type { RecvRequest } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { prepareRecvs, RecvRequests: Prepared } = recvs;

/** What can be posted to a receive queue: one receive, several, or a prepared list. */
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
