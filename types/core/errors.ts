/**
 * The errors of verbs: one class for verbs that fail, one for completions that did not succeed.
 *
 * @module
 */

import { EOPNOTSUPP, errno, errnoDescription, errnoName } from "../ffi/errno.ts";
import type { IbvContext } from "../ffi/handles.ts";
import { type ExtendedField, hasExtendedOp } from "../ffi/inlines.ts";

/** What is known of a failed verb. */
export interface VerbsErrorOptions {
  /** What was attempted, with which attributes; follows the action in the message. */
  readonly detail?: string;
  /** The likely cause and its remedy. */
  readonly hint?: string | undefined;
  /** For posts: how many requests went through before the one that failed. */
  readonly posted?: number | undefined;
}

/**
 * A verb failed. The message names what could not be done, the errno and, where it is known, the cause.
 *
 * @example Telling errors apart
 * ```ts
 * import { VerbsError } from "@rdma/ibverbs";
 *
 * function explain(error: unknown): string {
 *   if (!(error instanceof VerbsError)) return "not a verb's error";
 *   return error.notSupported ? "the device cannot do this" : `${error.verb}: ${error.code}`;
 * }
 * ```
 */
export class VerbsError extends Error {
  /** The error's name. */
  override readonly name = "VerbsError";
  /** The verb that failed, such as `"ibv_create_ah"`. */
  readonly verb: string;
  /** The errno value, positive; 0 where the provider failed without giving one. */
  readonly errno: number;
  /** The errno's name, such as `"EINVAL"`; `"unknown"` where the provider gave none. */
  readonly code: string;
  /** The likely cause and its remedy, where known. */
  readonly hint: string | undefined;
  /** For posts, how many requests went through before the one that failed. */
  readonly posted: number | undefined;

  /** Makes the error of a verb; `action` reads "create address handle". */
  constructor(verb: string, action: string, errno: number, options: VerbsErrorOptions = {}) {
    super(message(verb, action, errno, options));
    this.verb = verb;
    this.errno = errno;
    this.code = errno === 0 ? "unknown" : errnoName(errno);
    this.hint = options.hint;
    this.posted = options.posted;
  }

  /** Whether the device, its driver or its provider does not have the operation (EOPNOTSUPP, ENOSYS). */
  get notSupported(): boolean {
    return this.code === "EOPNOTSUPP" || this.code === "ENOSYS";
  }
}

function message(
  verb: string,
  action: string,
  value: number,
  { detail, hint }: VerbsErrorOptions,
): string {
  const reason = value === 0
    ? "failed, and the provider gave no reason"
    : `gave ${errnoName(value)} (${errnoDescription(value)})`;
  const what = detail === undefined ? action : `${action} (${detail})`;
  return `Cannot ${what}: ${verb} ${reason}${hint === undefined ? "" : `. ${hint}`}`;
}

/** Options of {@linkcode check} and {@linkcode checkHandle}; the hint is asked for only when the verb failed. */
export interface CheckOptions {
  /** What was attempted, with which attributes. */
  readonly detail?: () => string;
  /** The likely cause, from the errno's name. */
  readonly hint?: (code: string) => string | undefined;
  /** For posts: how many requests went through before the one that failed. */
  readonly posted?: number;
}

/** Throws the error of a verb that returns an errno value; some providers return it negative. */
export function check(
  verb: string,
  action: string,
  result: number,
  options: CheckOptions = {},
): void {
  if (result !== 0) throw failure(verb, action, Math.abs(result), options);
}

/** Throws the error of a verb that returns -1 and leaves errno. */
export function checkErrno(
  verb: string,
  action: string,
  result: number,
  options: CheckOptions = {},
): void {
  if (result < 0) throw failure(verb, action, errno(), options);
}

/** The object a verb returned, or the error it left in errno. */
export function checkHandle<H>(
  verb: string,
  action: string,
  handle: H | null,
  options: CheckOptions = {},
): H {
  if (handle === null) throw failure(verb, action, errno(), options);
  return handle;
}

/** The error of a failed verb, for callers that have errno already. */
export function failure(
  verb: string,
  action: string,
  value: number,
  { detail, hint, posted }: CheckOptions = {},
): VerbsError {
  return new VerbsError(verb, action, value, {
    posted,
    ...(detail && { detail: detail() }),
    hint: hint && hintFor(value, hint),
  });
}

/** A hint may ask the device; where that fails as well, the first failure is the one to tell of. */
function hintFor(value: number, hint: (code: string) => string | undefined): string | undefined {
  try {
    return hint(value === 0 ? "unknown" : errnoName(value));
  } catch {
    return undefined;
  }
}

/** Throws what the header's own wrapper of a verb gives where the op is missing. */
export function notSupported(verb: string, action: string): never {
  throw failure(verb, action, EOPNOTSUPP);
}

/** Checks that a context has a verb's op, which native code would otherwise jump through. */
export function requireOp(context: IbvContext, op: ExtendedField, action: string): void {
  if (!hasExtendedOp(context, op)) notSupported(`ibv_${op}`, action);
}
