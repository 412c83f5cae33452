/** Notes the objects that are made while a test checks what it leaves open. */

import { LIBRARY } from "./caller.ts";

/** Where each open object was made. */
export type Made = Map<Disposable, string>;

/** A call of the program. */
interface Call {
  /** Its line, such as `file:///main_test.ts:5:20`. */
  readonly place: string;
  /** The checks in progress: they note what the call makes, now or later. */
  readonly checks: readonly Made[];
}

const checks: Set<Made> = new Set();

/** The call that is being continued in a later turn. */
let continued: Call | undefined;

/** Objects that the library makes as parts of others, and closes with them. */
const parts: WeakSet<Disposable> = new WeakSet();

/** Begins to note what is made. */
export function beginNotes(): Made {
  const made: Made = new Map();
  checks.add(made);
  return made;
}

/** Stops noting. */
export function endNotes(made: Made): void {
  checks.delete(made);
}

/** Notes an object that is being made. */
export function noteMade(object: Disposable): void {
  if (continued !== undefined) note(object, continued);
  else if (checks.size > 0) note(object, thisCall());
}

/** Notes what a call of the program makes that has just been made. */
export function noted<T extends Disposable>(making: Promise<T>): Promise<T> {
  if (checks.size === 0) return making;
  const call = thisCall();
  return making.then((object) => note(object, call));
}

/** A function that makes objects later, for a call of the program that has just been made. */
export function forThisCall<A extends unknown[], R>(make: (...args: A) => R): (...args: A) => R {
  if (checks.size === 0) return make;
  const call = thisCall();
  return (...args) => {
    continued = call;
    try {
      return make(...args);
    } finally {
      continued = undefined;
    }
  };
}

function note<T extends Disposable>(object: T, { place, checks }: Call): T {
  for (const made of checks) made.set(object, place);
  return object;
}

/** Notes that an object is closed. */
export function noteClosed(object: Disposable): void {
  for (const made of checks) made.delete(object);
}

/** Notes that the library closes an object together with another one. */
export function partOf<T extends Disposable>(object: T): T {
  parts.add(object);
  return object;
}

/** Whether the library closes an object together with another one. */
export function isPart(object: Disposable): boolean {
  return parts.has(object);
}

/** More than those of the library, which come first. */
const FRAMES = 50;
const PLACE = /\(?([a-z]+:\/\/\S+?:\d+:\d+)\)?$/;
const THIS_FILE = /internal\/left_open\.ts:\d+:\d+$/;
const SOURCE = new RegExp(`^((${LIBRARY.join("|")})/|\\w+\\.ts:)`);

function thisCall(): Call {
  const places = stackOf().split("\n").flatMap((frame) => PLACE.exec(frame)?.[1] ?? []);
  const [own = ""] = places;
  const isOurs = THIS_FILE.test(own)
    ? (place: string) => isSource(place, own.replace(THIS_FILE, ""))
    // A bundle without a source map: all of it is in one folder.
    : (place: string) => place.startsWith(own.replace(/[^/]*$/, ""));
  const place = places.find((place) => !isOurs(place)) ?? places.at(-1) ?? "an unknown line";
  return { place, checks: [...checks] };
}

function isSource(place: string, root: string): boolean {
  return place.startsWith(root) && SOURCE.test(place.slice(root.length));
}

function stackOf(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return stack;
}
