/**
 * What is posted by mistake in place of a request.
 *
 * @module
 */

import { classOf, isForeign, noAttribute } from "../core/checks.ts";
import { RequestList } from "./request_list.ts";

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
