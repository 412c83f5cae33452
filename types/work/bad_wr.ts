import { bufferPointer } from "../../ffi/pointers.ts";
import { failure, type VerbsError } from "../core/errors.ts";
import type { RequestBuffer } from "./request_buffer.ts";

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
  readonly #verb: PostVerb;
  readonly #address: BigUint64Array<ArrayBuffer> = new BigUint64Array(1);
  /** The last argument of the verb. */
  readonly pointer: Deno.PointerObject;

  /** Makes the place. */
  constructor(verb: PostVerb) {
    this.#verb = verb;
    this.pointer = bufferPointer(this.#address);
  }

  /**
   * The number of requests of the run that were posted before the one that was just refused. It is undefined if the verb
   * named none: rxe does not if the kernel refuses after all requests are in the queue.
   */
  postedBefore(buffer: RequestBuffer, start: number): number | undefined {
    const address = this.#address[0]!;
    this.#address[0] = 0n;
    const index = buffer.indexOf(address);
    return index === undefined || index < start ? undefined : index - start;
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
