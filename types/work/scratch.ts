import { listOf } from "../core/checks.ts";
import type { RequestList } from "./request_list.ts";

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
