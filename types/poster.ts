import type { Handle } from "../ffi/handles.ts";
import { failure, type VerbsError } from "./errors.ts";
import { indexOf, type RequestList } from "./request_list.ts";

/** A verb that posts: `ibv_post_send`, `ibv_post_recv` or `ibv_post_wq_recv`. */
export interface PostVerb<H extends Handle> {
  /** Its name. */
  readonly verb: string;
  /** What it does, as in "post send". */
  readonly action: string;
  /** The verb itself: a queue, its first request, and room for a pointer to the one it refused. */
  readonly call: (queue: H, first: Deno.PointerObject, badWr: Deno.PointerObject) => number;
  /** The likely cause of a failure. */
  readonly hint: (code: string) => string | undefined;
}

/** Posts runs of prepared requests, and tells how far it came when one was refused. */
export class Poster<H extends Handle> {
  readonly #verb: PostVerb<H>;
  readonly #call: PostVerb<H>["call"];
  readonly #badWr: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  readonly #badWrPointer: Deno.PointerObject;

  /** Makes room for what the verb tells. */
  constructor(verb: PostVerb<H>) {
    this.#verb = verb;
    this.#call = verb.call;
    this.#badWrPointer = Deno.UnsafePointer.of(this.#badWr)!;
  }

  /** Posts a run of requests, and returns what the verb did. */
  post(queue: H, first: Deno.PointerObject): number {
    return this.#call(queue, first, this.#badWrPointer);
  }

  /** How many requests of the run went through before the one that was just refused. */
  postedBefore(list: RequestList, start: number): number {
    return indexOf(list, this.#badWr[0]!) - start;
  }

  /** The error of a run that was refused. */
  error(result: number, posted: number): VerbsError {
    const { verb, action, hint } = this.#verb;
    return failure(verb, action, Math.abs(result), {
      posted,
      detail: () => `request ${posted} of the list; those before it were posted`,
      hint,
    });
  }
}
