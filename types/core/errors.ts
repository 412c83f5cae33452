import { ofCaller } from "../../internal/caller.ts";
import type { Optional } from "../../internal/optional.ts";
import { errno, errnoDescription, errnoName } from "../../ffi/errno.ts";
import type { AnyFunction } from "../../ffi/function_pointer.ts";
import { constants } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { SystemError } from "../../ffi/system_error.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { rows, type Verbs } from "../../ffi/verbs.ts";
import { certainCause, type CountOf, likelyCause } from "./class_causes.ts";

const LINUX_ENOTSUPP = 524;

/**
 * A verb failed. The message names the action, the verb, its errno and, where it is known, the cause.
 *
 * @example Distinguishing errors
 * ```ts
 * import { VerbsError } from "@rdma/ibverbs";
 *
 * function explain(error: unknown): string {
 *   if (!(error instanceof VerbsError)) return "not a verb's error";
 *   return error.notSupported ? "the device cannot do this" : `${error.verb}: ${error.code}`;
 * }
 * ```
 *
 * @category Errors
 */
export class VerbsError extends Error {
  /** The error's name. */
  override readonly name = "VerbsError";
  /** The verb that failed, such as `"ibv_create_ah"`, or the system call. */
  readonly verb: string;
  /** The errno value, positive. It is 0 if the provider failed without one. */
  readonly errno: number;
  /** The name of the errno value, such as `"EINVAL"`. It is `"unknown"` if the provider gave none. */
  readonly code: string;
  /** The likely cause and its remedy, if it is known. */
  readonly hint: string | undefined;
  /** For posts: the number of requests that were posted before the one that failed. It is undefined if it is not known. */
  readonly posted: number | undefined;

  /**
   * Makes the error of a verb. `action` reads "create address handle". `detail`, the attributes of the attempt, follows it
   * in the message.
   */
  constructor(
    verb: string,
    action: string,
    errno: number,
    options: {
      readonly detail?: string | undefined;
      readonly hint?: string | undefined;
      readonly posted?: number | undefined;
    } = {},
  ) {
    const { detail, hint, posted } = options;
    const reason = errno === 0
      ? "failed, and the provider gave no reason"
      : `gave ${errnoName(errno)} (${errnoDescription(errno)})`;
    const what = detail === undefined ? action : `${action} (${detail})`;
    super(`Cannot ${what}: ${verb} ${reason}${hint === undefined ? "" : `. ${hint}`}`);
    this.verb = verb;
    this.errno = errno;
    this.code = codeOf(errno);
    this.hint = hint;
    this.posted = posted;
  }

  /**
   * Whether the device, its driver, its provider or the installed libibverbs lacks the operation (EOPNOTSUPP, ENOSYS, and
   * 524, which is ENOTSUPP within Linux).
   */
  get notSupported(): boolean {
    return this.code === "EOPNOTSUPP" || this.code === "ENOSYS" || this.errno === LINUX_ENOTSUPP;
  }
}

/** Options of `call`. The functions run only if the verb failed. */
export interface CheckOptions {
  /** The attributes of the attempt. */
  readonly detail?: (() => string) | undefined;
  /** The likely cause, by the name of the errno value. */
  readonly hint?: ((code: string) => string | undefined) | undefined;
  /** For posts: the number of requests that were posted before the one that failed. */
  readonly posted?: number | undefined;
  /** How many objects a device has of the kind that was not made. */
  readonly countOf?: CountOf | undefined;
}

/** Calls a verb. If that fails, as the row of the verb reports failure, this throws the error. */
export function call<V extends keyof Verbs>(
  verb: V,
  action: string,
  args: Readonly<Parameters<Verbs[V]>>,
  options: CheckOptions = {},
): NonNullable<ReturnType<Verbs[V]>> {
  let result: ReturnType<Verbs[V]>;
  try {
    result = (verbs()[verb] as AnyFunction)(...args);
  } catch (error) {
    // A verb that cannot fail has no result that could say that the installed libibverbs lacks it.
    if (!(error instanceof SystemError) || error.errno !== constants.EOPNOTSUPP) throw error;
    throw ofCaller(failure(verb, action, constants.EOPNOTSUPP, options), call);
  }
  return checked(verb, rows()[verb] as Optional<NativeRow>, result, action, options, call);
}

/** Checks what a function returned. If it reports a failure, as the row of the function says, this throws the error. */
export function checked<T>(
  verb: string,
  { fails = "code" }: Optional<NativeRow>,
  result: T,
  action: string,
  options: CheckOptions,
  inside: (...args: never[]) => unknown = checked,
): NonNullable<T> {
  const isNone = typeof result === "number" ? result < 0 : result === null;
  const failed = fails === "code" ? result !== 0 : fails !== "never" && isNone;
  if (!failed) return result!;
  // Some providers return negated errno values.
  const value = fails === "errno" ? errno() : Math.abs(result as number);
  throw ofCaller(failure(verb, action, value, options), inside);
}

/** The error of a failed verb, for callers that know the errno value. */
export function failure(
  verb: string,
  action: string,
  value: number,
  { detail, hint, posted, countOf }: CheckOptions = {},
): VerbsError {
  const error = new VerbsError(verb, action, value, {
    posted,
    detail: detail?.(),
    hint: hintFor(value, (code) => certainCause({ verb, countOf }, code)) ??
      (hint && hintFor(value, hint)) ??
      hintFor(value, (code) => likelyCause({ verb, countOf }, code)),
  });
  return ofCaller(error, failure);
}

/**
 * The error of an object whose provider lacks an operation that nothing checks later, such as one that posts or polls.
 * Every class throws it when the object is made.
 */
export function lacking(verb: string, action: string): VerbsError {
  return failure(verb, action, constants.EOPNOTSUPP);
}

/** A hint may query the device. If that fails too, the first failure is the one to report. */
function hintFor(value: number, hint: (code: string) => string | undefined): string | undefined {
  try {
    return hint(codeOf(value));
  } catch {
    return undefined;
  }
}

function codeOf(value: number): string {
  return value === 0 ? "unknown" : errnoName(value);
}
