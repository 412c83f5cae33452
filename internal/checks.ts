import type { Optional } from "./optional.ts";
import { ofCaller } from "./caller.ts";

/**
 * Replaces each character that controls a terminal or the order of text, except tabs, by default with an escape such as
 * `\u{1b}`. JSON itself escapes only the first 32.
 */
export function escapeControls(text: string, escape = escapeOf): string {
  return text.replaceAll(/(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escape);
}

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/** A text of the user or of a peer in a message: as a JSON string. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/** How a value appears in a message. Text may come from a peer, so nothing in it may control a terminal. */
export function show(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quote(value.length > 40 ? `${value.slice(0, 40)}...` : value);
    case "bigint":
      return `${value}n`;
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    default:
      return String(value);
  }
}

/** Checks an integer's range; `what` reads "sgidIndex", and `unit` " ms". Returns the value. */
export function integer(
  value: number,
  what: string,
  min: number,
  max: number,
  unit = "",
  inside: (...args: never[]) => unknown = integer,
): number {
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw ofCaller(
      new TypeError(`Cannot use ${what} ${show(value)}: it is not an integer`),
      inside,
    );
  }
  if (value < min || value > max) {
    throw ofCaller(
      new RangeError(`Cannot use ${what} ${value}: it is not within ${min} to ${max}${unit}`),
      inside,
    );
  }
  return value;
}

export function uint8(value: number, what: string): number {
  return integer(value, what, 0, 0xff, "", uint8);
}

export function uint16(value: number, what: string): number {
  return integer(value, what, 0, 0xffff, "", uint16);
}

/** Checks an unsigned 24-bit integer, such as a queue pair number or a PSN. */
export function uint24(value: number, what: string): number {
  if (typeof value === "number" && value >>> 0 === value && value < 0x100_0000) return value;
  return integer(value, what, 0, 0xff_ffff, "", uint24);
}

/** Checks an unsigned 32-bit integer. */
export function uint32(value: number, what: string): number {
  // V8 compiles this to two instructions; work requests are checked by it.
  if (typeof value === "number" && value >>> 0 === value) return value;
  return integer(value, what, 0, 0xffff_ffff, "", uint32);
}

/** Checks an integer that C takes as a positive `int`. */
export function positiveInt(value: number, what: string): number {
  return integer(value, what, 1, 0x7fff_ffff, "", positiveInt);
}

/** Checks a time in milliseconds that C takes as a positive `int`. */
export function milliseconds(value: number, what: string): number {
  return integer(value, what, 1, 0x7fff_ffff, " ms", milliseconds);
}

/** Checks an unsigned 64-bit integer, given as a bigint or as a number up to 2^53 - 1. Returns it as a bigint. */
export function uint64(value: bigint | number, what: string): bigint {
  if (typeof value === "number") {
    return BigInt(integer(value, what, 0, Number.MAX_SAFE_INTEGER, "", uint64));
  }
  if (typeof value !== "bigint") {
    throw ofCaller(
      new TypeError(
        `Cannot use ${what} ${show(value)}: it is not a bigint or an integer${
          typeof value === "string" ? "; BigInt() makes one of a text" : ""
        }`,
      ),
      uint64,
    );
  }
  if (value < 0n || value > 0xffff_ffff_ffff_ffffn) {
    throw ofCaller(new RangeError(`Cannot use ${what} ${value}: it does not fit 64 bits`), uint64);
  }
  return value;
}

export function text(value: string, what: string): string {
  if (typeof value === "string") return value;
  throw ofCaller(new TypeError(`Cannot use ${what} ${show(value)}: it is not a string`), text);
}

export function callable<F>(value: F, what: string): F {
  if (typeof value === "function") return value;
  throw ofCaller(
    new TypeError(`Cannot use ${what} ${show(value)}: it is not a function`),
    callable,
  );
}

export function boolean(value: boolean, what: string): boolean {
  if (typeof value === "boolean") return value;
  throw ofCaller(
    new TypeError(`Cannot use ${what} ${show(value)}: it is not a boolean, true or false`),
    boolean,
  );
}

/** A class to check against. Its constructor may be abstract or private. */
export interface ClassOf<T> {
  readonly name: string;
  readonly prototype: T;
}

/** Checks that a value is an instance of a class. Returns it. */
export function instanceOf<T>(
  value: unknown,
  type: ClassOf<T>,
  what: string,
  inside: (...args: never[]) => unknown = instanceOf,
): T {
  if (value instanceof (type as unknown as abstract new () => T & object)) return value;
  const readsText = typeof value === "string" && "parse" in type;
  const hint = readsText ? `. ${type.name}.parse() reads text` : "";
  throw ofCaller(
    new TypeError(
      `Cannot use ${what} ${classOf(value)}: it is not ${withArticle(type.name)}${hint}`,
    ),
    inside,
  );
}

/** The name of a class in a sentence: "an AddressHandle". */
export function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

/** How to make bytes of what is given in their place. */
function toBytes(value: unknown): string {
  if (typeof value === "string") return "; new TextEncoder().encode() makes one of a text";
  return value instanceof ArrayBuffer ? "; new Uint8Array(buffer) is one" : "";
}

/** Checks that a value is a Uint8Array. Returns it. A Proxy of one is refused: its methods do not work. */
export function byteArray<T extends Uint8Array>(value: T, what: string): T {
  if (ArrayBuffer.isView(value) && value instanceof Uint8Array) return value;
  throw ofCaller(
    new TypeError(`Cannot use ${what} ${show(value)}: it is not a Uint8Array${toBytes(value)}`),
    byteArray,
  );
}

/**
 * Checks that the buffer of a caller's bytes is still there, after code of the caller has run.
 *
 * @throws {TypeError} If it was transferred.
 */
export function assertAttached({ buffer }: Uint8Array, what: string): void {
  if (!(buffer instanceof ArrayBuffer) || !buffer.detached) return;
  throw ofCaller(new TypeError(`Cannot use ${what}: its buffer is detached`), assertAttached);
}

/**
 * A copy of a caller's bytes, which may change afterwards.
 *
 * @throws {TypeError} If it is not a Uint8Array, or its buffer is gone.
 */
export function copyOfBytes(value: unknown, what: string): Uint8Array<ArrayBuffer> {
  const bytes = byteArray(value as Uint8Array, what);
  try {
    return new Uint8Array(bytes);
  } catch {
    throw ofCaller(
      new TypeError(`Cannot use ${what}: its buffer is detached or too short`),
      copyOfBytes,
    );
  }
}

/**
 * Copies the bytes of a message to a place in memory of the device.
 *
 * @throws {TypeError} If its buffer is gone since it was checked.
 */
export function copyBytes(memory: Uint8Array, message: Uint8Array, start: number): void {
  try {
    memory.set(message, start);
  } catch {
    throw new TypeError("Cannot send: the buffer of the message is detached");
  }
}

/** How many attributes a message names to say what an object is expected. */
const SHOWN_NAMES = 5;

/** Checks that a value is an object whose properties can be read. Returns it. */
export function object<T extends object>(
  value: T,
  what: string,
  inside: (...args: never[]) => unknown = object,
  names: readonly string[] = [],
): T {
  if (typeof value === "object" && value !== null) return value;
  const shown = names.length > SHOWN_NAMES ? [...names.slice(0, SHOWN_NAMES), "..."] : names;
  const attributes = shown.length === 0 ? "" : ` with ${shown.join(", ")}`;
  throw ofCaller(
    new TypeError(`Cannot use ${what} ${show(value)}: it is not an object${attributes}`),
    inside,
  );
}

/**
 * Whether an object is of a class and has none of these attributes, such as a Promise or a Map that is given by
 * mistake. An object literal is never foreign: it may be empty.
 */
export function isForeign(value: object, names: Iterable<string>): boolean {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false;
  for (const name of names) if (name in value) return false;
  return true;
}

/** What a value is, in messages: for an object its class, as in "a Map". */
export function classOf(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return show(value);
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const name = tag === "Object" ? value.constructor?.name : tag;
  if (typeof name !== "string" || name === "" || name === "Object") return "an object";
  return withArticle(name);
}

/** The most elements of a list: no queue and no table has more. An array of holes can have a length of 2^32 - 1. */
const MAX_LIST = 2 ** 20;

/** A copy of a list of the caller, which does not change when the list does. */
export function listOf<T>(value: readonly T[], what: string): T[] {
  if (!Array.isArray(value)) {
    throw ofCaller(new TypeError(`Cannot use ${what} ${show(value)}: it is not an array`), listOf);
  }
  const { length } = value;
  if (length > MAX_LIST) {
    throw ofCaller(
      new RangeError(
        `Cannot use ${what}: it has ${length} elements, and at most ${MAX_LIST} are possible`,
      ),
      listOf,
    );
  }
  // A subclass of Array can override slice() and its iterator.
  const copy: T[] = [];
  for (let i = 0; i < length; i++) copy.push(value[i]!);
  return copy;
}

/** The error of an attribute that does not exist. It suggests the one with a similar name, such as that of C. */
export function noAttribute(what: string, name: string, names: readonly string[]): TypeError {
  const given = plain(name);
  const meant = names.find((known) => plain(known) === given);
  const hint = meant === undefined ? insteadOf(given, names) : `; it is ${show(meant)}`;
  return new TypeError(`Cannot use ${what}: there is no attribute ${show(name)}${hint}`);
}

/** Attributes, and words that are written for them: those of other APIs, and of C in another struct. */
const SYNONYMS: readonly (readonly [meant: string, ...given: string[]])[] = [
  ["access", "accessFlags"],
  ["channel", "compChannel"],
  ["compareAdd", "compare", "add"],
  ["cqe", "depth"],
  ["destQpNum", "destQpn"],
  ["gidIndex", "sgidIndex"],
  ["hostname", "address", "host"],
  ["immData", "imm", "number"],
  ["maxPending", "backlog"],
  ["port", "portNum"],
  ["qpAccessFlags", "access", "accessFlags"],
  ["qpNum", "qpn"],
  ["qpType", "type"],
  ["remoteAddr", "raddr"],
  ["remoteQkey", "qkey"],
  ["remoteQpn", "qpn", "qpNum"],
  ["retryCnt", "retryCount"],
  ["retryCount", "retryCnt"],
  ["rnrRetry", "rnrRetryCount"],
  ["rnrRetryCount", "rnrRetry"],
  ["sendFlags", "flags"],
  ["sgidIndex", "gidIndex"],
  ["srcAddr", "source", "src"],
  ["srqLimit", "limit"],
  ["srqType", "type"],
  ["wqType", "type"],
];

/** Names of other APIs and of C, an attribute that shows what is meant, and what to write. */
const INSTEAD: readonly (readonly [given: string, meant: string, hint: string])[] = [
  ["timeout", "connectTimeout", "connectTimeout is in milliseconds, ackTimeout is that of C"],
  // Their signal closes what is opened.
  ["timeout", "maxQueued", "each call takes signal: AbortSignal.timeout(milliseconds)"],
  ["timeout", "signal", "give signal: AbortSignal.timeout(milliseconds)"],
  ["signal", "responderResources", "it is in the options, the next argument"],
  ["timeout", "responderResources", "the options, the next argument, have a signal"],
  ["port", "maxQueued", "peers do not find it by a port: give them its addr"],
  ["port", "portNum", 'it is "portNum"'],
  ["hostname", "device", "`device` and `gidIndex` choose the address"],
  ["address", "device", "`device` and `gidIndex` choose the address"],
  ["sgList", "sge", 'it is "sge", one element or an array'],
  ["numSge", "sge", 'it is "sge", one element or an array'],
  ...["data", "buffer", "bytes", "message", "payload"].map((name) =>
    [name, "sge", "write { sge: mr.sge(offset, length) }, which is registered memory"] as const
  ),
  ...["wr", "rdma", "atomic", "ud"].map((name) =>
    [name, "remoteQpn", "its attributes stand in the request itself"] as const
  ),
  ["cq", "recvCq", "give sendCq and recvCq, which may be the same queue"],
  ["attr", "maxWr", "its attributes stand here"],
];

function insteadOf(given: string, names: readonly string[]): string {
  const synonym = SYNONYMS.find(([meant, ...others]) =>
    names.includes(meant) && others.some((other) => plain(other) === given)
  );
  if (synonym !== undefined) return `; it is ${show(synonym[0])}`;
  const instead = INSTEAD.find(([other, meant]) => plain(other) === given && names.includes(meant));
  return instead === undefined ? "" : `; ${instead[2]}`;
}

/** A name without what C writes differently. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/**
 * Refuses options behind the last argument: they would be lost, and with them a deadline.
 *
 * @param form How the arguments are written.
 */
export function nothingBehind(extra: unknown, form: string): void {
  if (extra === undefined) return;
  throw ofCaller(
    new TypeError(`Cannot use a further argument ${show(extra)}: write ${form}`),
    nothingBehind,
  );
}

/**
 * The error of an object of another kind, such as one that is given in the place of another argument.
 *
 * @param hint What is meant in its place, behind a semicolon.
 */
export function noneOf(source: object, what: string, hint = ""): TypeError {
  return new TypeError(`Cannot use ${what}: ${classOf(source)} has none of the attributes${hint}`);
}

/**
 * Reads the known properties of an object, each exactly once, into a plain object. Code of the caller, such as a getter
 * or a Proxy, runs only here: afterwards the copy cannot change.
 *
 * @throws {TypeError} If it is not an object, has an enumerable property of another name, or is of a class that has none
 * of the properties.
 */
export function snapshot<T extends object>(
  source: T,
  what: string,
  names: readonly (keyof T & string)[],
): T {
  object(source, what, snapshot, names);
  if (Array.isArray(source) || ArrayBuffer.isView(source)) {
    throw ofCaller(noneOf(source, what), snapshot);
  }
  for (const name in source) {
    if ((names as readonly string[]).includes(name)) continue;
    if (!(source instanceof AbortSignal)) {
      const error = isForeign(source, names)
        ? noneOf(source, what)
        : noAttribute(what, name, names);
      throw ofCaller(error, snapshot);
    }
    throw ofCaller(
      new TypeError(`Cannot use ${what}: it is an AbortSignal: write { signal }`),
      snapshot,
    );
  }
  const copy: Optional<T> = Object.create(null);
  let isEmpty = true;
  for (const name of names) {
    const value = source[name];
    if (value === undefined) continue;
    copy[name] = value;
    isEmpty = false;
  }
  if (isEmpty && isForeign(source, names)) throw ofCaller(noneOf(source, what), snapshot);
  return copy as T;
}
