import { classOf, isForeign, noAttribute } from "../core/checks.ts";
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

/** What a request is for, in messages. */
export type Purpose = "send" | "receive";

/** Checks that a value is an object whose attributes can be read. */
export function assertObject(request: unknown, purpose: Purpose): void {
  if (typeof request !== "object" || request === null) throw notRequest(request, purpose);
}

/**
 * Checks that an object without enumerable properties is a request: an empty literal, or of a class with getters. Only such
 * objects need the check, so it takes no time of others.
 */
export function assertRequest(request: object, names: Iterable<string>, purpose: Purpose): void {
  if (isForeign(request, names)) throw notRequest(request, purpose);
}

/** The error of a property that is no attribute of a request. */
export function unknownAttribute(request: object, name: string, purpose: Purpose): TypeError {
  const isElement = /^\d+$/.test(name);
  return isElement ? notRequest(request, purpose) : noAttribute(`${purpose} request`, name);
}

function notRequest(value: unknown, purpose: Purpose): TypeError {
  const reason = value instanceof RequestList
    ? "postSend() takes SendRequests, postRecv() takes RecvRequests, and each list is posted by itself"
    : `${classOf(value)} is not a request`;
  return new TypeError(`Cannot post ${purpose}: ${reason}${remedy(value)}`);
}

function remedy(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  if ("then" in value) return ", await it first";
  return Symbol.iterator in value && !Array.isArray(value) ? ", make an array of its elements" : "";
}
