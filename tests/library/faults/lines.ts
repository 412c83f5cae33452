// What users see when functions of C fail, as lines of a file of messages.

import { assert } from "@std/assert";
import { errnoName } from "../../../ffi/errno.ts";
import type { VerbsError } from "../../../mod.ts";
import { CERTAIN, LIKELY } from "../../../types/core/class_causes.ts";

/** The last errno of Linux (EHWPOISON); a few numbers before it have no error. */
const LAST_ERRNO = 133;

export const ERRNOS: readonly [code: string, errno: number][] = Array.from(
  { length: LAST_ERRNO },
  (_, i): [string, number] => [errnoName(i + 1), i + 1],
).filter(([code]) => code.startsWith("E"));

/** Errors for an operation that is missing. */
const LACKING = ["EOPNOTSUPP", "ENOSYS"];

/** The hints that classes of verbs share: classes_test.ts tests them. */
const SHARED = [...CERTAIN, ...LIKELY].flatMap(({ causes }) => causes).map(([, sentence]) =>
  new RegExp(`^${sentence.split(/\{\w+\}/).map((part) => RegExp.escape(part)).join(".+")}$`)
);

/** What a call says it could not do, and its hints, but for those that any call has. */
export function linesOf(errors: readonly VerbsError[]): string[] {
  for (const { code, hint } of errors) assert(hint !== undefined || !LACKING.includes(code), code);
  const actions = new Set(errors.map(({ message, verb }) => message.split(`: ${verb} `)[0]!));
  const hinted = errors.filter(({ hint }) => hint && !SHARED.some((shared) => shared.test(hint)));
  const hints = Map.groupBy(hinted, ({ hint }) => hint).entries().map(([hint, of]) =>
    `${of.length > 100 ? "any" : of.map(({ code }) => code).join(" ")}: ${hint}`
  );
  return [...actions, ...hints];
}
