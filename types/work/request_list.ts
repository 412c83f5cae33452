import { checkWrId, type RequestBuffer } from "./request_buffer.ts";
import { readSge } from "./sge_list.ts";
import type { SgeList } from "./work_request.ts";

/** The native memory of a list. */
export let bufferOf: (list: RequestList) => RequestBuffer;

/**
 * Work requests in native layout. They are made once, changed in single fields, and posted again and again.
 *
 * A setter checks all of its arguments before it changes the request. A request whose memory region or address handle is
 * disposed is refused when it is posted.
 *
 * @category Work requests
 */
export abstract class RequestList {
  readonly #buffer: RequestBuffer;

  static {
    bufferOf = (list) => list.#buffer;
  }

  /** @ignore */
  protected constructor(buffer: RequestBuffer) {
    this.#buffer = buffer;
  }

  /** The number of requests. */
  get capacity(): number {
    return this.#buffer.capacity;
  }

  /** The number of scatter/gather elements that each request has room for. */
  get maxSge(): number {
    return this.#buffer.maxSge;
  }

  /**
   * Sets the number that the completion of a request carries.
   *
   * @param index The index of the request.
   * @param wrId 64 bits. A number is faster than a bigint.
   * @throws {RangeError} If there is no such request, or the number does not fit 64 bits.
   */
  setWrId(index: number, wrId: number | bigint): void {
    this.#buffer.at(index);
    checkWrId(wrId);
    this.#buffer.writeWrId(index, wrId);
  }

  /**
   * Sets the memory of a request.
   *
   * @throws {RangeError} If there are more elements than {@linkcode RequestList.maxSge}.
   * @throws {TypeError} If an element is not a scatter/gather element, or its region is disposed.
   */
  setSge(index: number, sge: SgeList): void {
    this.#buffer.at(index);
    this.#buffer.writeSge(index, readSge(sge, this.#buffer.maxSge));
  }

  /**
   * Sets the length of a request's first scatter/gather element.
   *
   * @param index The index of the request.
   * @param length Bytes.
   * @throws {RangeError} If the request has no memory, or the element would end beyond its memory region.
   */
  setLength(index: number, length: number): void {
    this.#buffer.setLength(index, length);
  }

  /** The size of the list on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return `${this.constructor.name} { capacity: ${this.capacity}, maxSge: ${this.maxSge} }`;
  }
}
