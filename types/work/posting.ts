/**
 * What posting to all kinds of queues has in common.
 *
 * @module
 */

import { bufferPointer } from "../../ffi/pointers.ts";
import { listOf } from "../core/checks.ts";
import { failure, type VerbsError } from "../core/errors.ts";
import type { RequestBuffer } from "./request_buffer.ts";
import type { RequestList } from "./request_list.ts";

/** A verb that posts, such as `ibv_post_send`. */
export interface PostVerb {
  /** Its name. */
  readonly verb: string;
  /** What it does, as in "post send". */
  readonly action: string;
  /** The likely cause of a failure, by the name of the errno value. */
  readonly hint: (code: string) => string | undefined;
}

/**
 * The place where a verb that posts writes the address of the request it refused (`bad_wr`).
 *
 * The class of each queue calls the verb itself: Deno does not compile a call that leads to different verbs to a native
 * call, which would cost 40 ns.
 */
export class BadWr {
  /** One place serves all queues: what a verb writes is read before the next one is called. */
  static readonly #address: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  static #pointer: Deno.PointerObject | undefined;
  readonly #verb: PostVerb;
  /** The last argument of the verb. */
  readonly pointer: Deno.PointerObject = BadWr.#pointer ??= bufferPointer(BadWr.#address);

  /** Refers to the place. */
  constructor(verb: PostVerb) {
    this.#verb = verb;
  }

  /**
   * The number of requests of the run that were posted before the one that was just refused. It is undefined if the verb
   * named none: rxe does not if the kernel refuses after all requests are in the queue.
   */
  postedBefore(buffer: RequestBuffer, start: number): number | undefined {
    const address = BadWr.#address[0]!;
    BadWr.#address[0] = 0n;
    const index = buffer.indexOf(address);
    return index === undefined || index < start ? undefined : index - start;
  }

  /** The error of a run that was refused. */
  error(result: number, posted: number | undefined): VerbsError {
    const { verb, action, hint } = this.#verb;
    // libmlx4 answers -1 for a full shared receive queue. That is no errno value.
    const value = result === -1 ? 0 : Math.abs(result);
    return failure(verb, action, value, {
      hint,
      ...posted !== undefined && {
        posted,
        detail: () => `request ${posted} of the list; those before it were posted`,
      },
    });
  }
}

/** A list that a request can be written into. */
type ListOf<R> = RequestList & { set(index: number, request: R): void };

/** Room for requests that are given as objects: one list in native layout, used again for each call. */
export class Scratch<R, L extends ListOf<R>> {
  readonly #make: (capacity: number) => L;
  #list: L | undefined;
  /** The number of requests that were filled in last. */
  count = 0;

  /** Uses this function to make a list. */
  constructor(make: (capacity: number) => L) {
    this.#make = make;
  }

  /**
   * Reads one request or several into a list; `null` if there are none.
   *
   * Getters of the requests run here and may call this again. The inner call makes a list of its own, because the list in
   * use is absent meanwhile.
   */
  fill(requests: R | readonly R[]): L | null {
    const several = Array.isArray(requests) ? listOf<R>(requests, "requests") : undefined;
    const count = several === undefined ? 1 : several.length;
    if (count === 0) return null;
    let list = this.#list;
    this.#list = undefined;
    if (list === undefined || list.capacity < count) list = this.#make(count);
    try {
      if (several === undefined) list.set(0, requests as R);
      else for (let i = 0; i < count; i++) list.set(i, several[i]!);
    } finally {
      this.#list = list;
      this.count = count;
    }
    return list;
  }
}

/** Checks that `count` and `start` are left out, as they are for requests that are given as objects. */
export function assertNoRun(count: number | undefined, start: number | undefined): void {
  if (count !== undefined || start !== undefined) {
    throw new TypeError("Cannot post requests: count and start are for prepared lists only");
  }
}
