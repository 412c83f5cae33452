import { failure, type VerbsError } from "../core/errors.ts";
import { indexOf, type RequestList } from "./request_list.ts";

/** A verb that posts: `ibv_post_send`, `ibv_post_recv` or `ibv_post_wq_recv`. */
export interface PostVerb {
  /** Its name. */
  readonly verb: string;
  /** What it does, as in "post send". */
  readonly action: string;
  /** The likely cause of a failure. */
  readonly hint: (code: string) => string | undefined;
}

/**
 * Room for the pointer by which a posting verb names the request it refused, and what to make of it. The verb itself is
 * called by the queue's own class: a call that leads to different verbs is not compiled to a native call (40 ns).
 */
export class Refusal {
  readonly #verb: PostVerb;
  readonly #badWr: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  /** The room, for the verb's last argument. */
  readonly badWr: Deno.PointerObject;

  /** Makes room. */
  constructor(verb: PostVerb) {
    this.#verb = verb;
    this.badWr = Deno.UnsafePointer.of(this.#badWr)!;
  }

  /**
   * How many requests of the run went through before the one that was just refused; undefined where the verb named none,
   * as rxe does when all are in the queue and the kernel then refuses to go through it.
   */
  postedBefore(list: RequestList, start: number): number | undefined {
    const address = this.#badWr[0]!;
    this.#badWr[0] = 0n;
    return address === 0n ? undefined : indexOf(list, address) - start;
  }

  /** The error of a run that was refused. */
  error(result: number, posted: number | undefined): VerbsError {
    const { verb, action, hint } = this.#verb;
    return failure(verb, action, Math.abs(result), {
      hint,
      ...posted !== undefined && {
        posted,
        detail: () => `request ${posted} of the list; those before it were posted`,
      },
    });
  }
}
