import type { Handle } from "../ffi/handles.ts";
import { Poster, type PostVerb } from "./poster.ts";
import { checkRecvs, RecvRequests } from "./recv_requests.ts";
import { firstOf } from "./request_list.ts";
import type { RecvRequest } from "./work_request.ts";

/** What the receives of one queue are like. */
export interface RecvRules {
  /** Scatter/gather elements of a receive. */
  readonly maxSge: number;
  /** Whether each buffer must take a GRH. */
  readonly needsGrh: boolean;
}

/** Posts receives, which queue pairs and work queues take alike. */
export class RecvPoster<H extends Handle> {
  readonly #poster: Poster<H>;
  readonly #rules: RecvRules;
  #scratch: RecvRequests | undefined;

  /** Posts by that verb. */
  constructor(verb: PostVerb<H>, rules: RecvRules) {
    this.#poster = new Poster(verb);
    this.#rules = rules;
  }

  /** Posts one receive or several, in order. */
  post(queue: H, requests: RecvRequest | readonly RecvRequest[]): void {
    const list = Array.isArray(requests)
      ? requests as readonly RecvRequest[]
      : [requests as RecvRequest];
    if (list.length === 0) return;
    if (this.#scratch === undefined || this.#scratch.capacity < list.length) {
      this.#scratch = new RecvRequests({
        capacity: list.length,
        maxSge: Math.max(1, this.#rules.maxSge),
      });
    }
    for (const [i, request] of list.entries()) this.#scratch.set(i, request);
    this.postList(queue, this.#scratch, list.length, 0);
  }

  /** Posts a run of prepared receives. */
  postList(queue: H, list: RecvRequests, count: number, start: number): void {
    const first = firstOf(list, start, count);
    checkRecvs(list, start, count, this.#rules.needsGrh);
    const result = this.#poster.post(queue, first);
    if (result !== 0) {
      throw this.#poster.error(result, this.#poster.postedBefore(list, start));
    }
  }
}
