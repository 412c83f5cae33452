import type { VerbsError } from "../core/errors.ts";
import { prepareRecvs, RecvRequests } from "./recv_requests.ts";
import { type PostVerb, Refusal } from "./bad_wr.ts";
import type { RecvRequest } from "./work_request.ts";

/** What the receives of one queue are like. */
export interface RecvRules {
  /** Scatter/gather elements of a receive. */
  readonly maxSge: number;
  /** Whether each buffer must take a GRH. */
  readonly needsGrh: boolean;
}

/** Gets receives ready to be posted, which queue pairs and work queues take alike. */
export class RecvPoster {
  readonly #refusal: Refusal;
  readonly #rules: RecvRules;
  /** Room for the pointer to a request that the verb refuses, for its last argument. */
  readonly badWr: Deno.PointerObject;
  #scratch: RecvRequests | undefined;

  /** Gets ready for that verb. */
  constructor(verb: PostVerb, rules: RecvRules) {
    this.#refusal = new Refusal(verb);
    this.badWr = this.#refusal.badWr;
    this.#rules = rules;
  }

  /** Puts receives into native layout. */
  fill(requests: readonly RecvRequest[]): RecvRequests {
    const { length } = requests;
    if (this.#scratch === undefined || this.#scratch.capacity < length) {
      const maxSge = Math.max(1, this.#rules.maxSge);
      this.#scratch = new RecvRequests({ capacity: length, maxSge });
    }
    for (const [i, request] of requests.entries()) this.#scratch.set(i, request);
    return this.#scratch;
  }

  /** Checks a run of prepared receives, and gives the pointer to post it by. */
  prepare(list: RecvRequests, count: number, start: number): Deno.PointerObject {
    return prepareRecvs(list, start, count, this.#rules.needsGrh);
  }

  /** The error of a run that was refused. */
  error(result: number, list: RecvRequests, start: number): VerbsError {
    return this.#refusal.error(result, this.#refusal.postedBefore(list, start));
  }
}
