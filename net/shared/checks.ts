/**
 * Checks of what callers and peers give.
 *
 * @module
 */

/**
 * Options of calls that wait.
 *
 * @category Options
 */
export interface WaitOptions {
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the known properties of an object, each exactly once. `what` reads "options".
 *
 * @throws {TypeError} If it is not an object, or has a property of another name.
 */
export function readObject<T extends object>(
  source: T,
  what: string,
  names: readonly (keyof T & string)[],
): T {
  if (typeof source !== "object" || source === null) {
    throw new TypeError(`Cannot use ${what} ${show(source)}: it is not an object`);
  }
  for (const name in source) {
    if (names.includes(name)) continue;
    throw new TypeError(`Cannot use ${what}: there is no property ${show(name)}`);
  }
  const copy: Partial<T> = Object.create(null);
  for (const name of names) {
    const value = source[name];
    if (value !== undefined) copy[name] = value;
  }
  return copy as T;
}

/** Reads the signal of options that have nothing else. */
export function readSignal(options: WaitOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  return checkSignal(readObject(options, "options", ["signal"]).signal);
}

/** Checks that a signal, if there is one, is an AbortSignal. */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new TypeError(`Cannot use signal ${show(signal)}: it is not an AbortSignal`);
}

/** Checks the range of an integer; `what` reads "qkey". */
export function integer(value: number, what: string, min: number, max: number): number {
  if (!Number.isInteger(value)) {
    throw new TypeError(`Cannot use ${what} ${show(value)}: it is not an integer`);
  }
  if (value < min || value > max) {
    throw new RangeError(`Cannot use ${what} ${value}: it is not within ${min} to ${max}`);
  }
  return value;
}

/** Checks that a value is text. */
export function text(value: string, what: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot use ${what} ${show(value)}: it is not a string`);
}

/** Checks that a value is a Uint8Array. */
export function byteArray<T extends Uint8Array>(value: T, what: string): T {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`Cannot use ${what} ${show(value)}: it is not a Uint8Array`);
}

/** Copies a message into memory of the device. The caller may have transferred its buffer since it was checked. */
export function copyMessage(memory: Uint8Array, message: Uint8Array, start: number): void {
  try {
    memory.set(message, start);
  } catch {
    throw new TypeError("Cannot send: the buffer of the message is detached");
  }
}

/** Characters that control a terminal or the order of text. JSON itself escapes only the first 32. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** How a value appears in a message. Peers choose some: a terminal shows them and obeys nothing in them. */
function show(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value)
      .replaceAll(CONTROLS, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
  }
  if (typeof value === "object" && value !== null) {
    return Array.isArray(value) ? "an array" : "an object";
  }
  return typeof value === "function" ? "a function" : String(value);
}
