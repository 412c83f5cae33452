// What users see when functions of C fail, as lines of a file of messages.

import { assertEquals } from "@std/assert";
import { errnoName } from "../../../ffi/errno.ts";
import type { VerbsError } from "../../../mod.ts";

/** The last errno of Linux (EHWPOISON); a few numbers before it have no error. */
const LAST_ERRNO = 133;

export const ERRNOS: readonly [code: string, errno: number][] = Array.from(
  { length: LAST_ERRNO },
  (_, i): [string, number] => [errnoName(i + 1), i + 1],
).filter(([code]) => code.startsWith("E"));

/** What the hints of these errors name where a verb makes an object. */
export const OF_PROCESS: Readonly<Record<string, string>> = {
  EAGAIN: "rdma.max",
  EMFILE: '"ulimit -n"',
};

/** Errors for an operation that is missing, and what their hints end with unless they know more. */
const LACKING = ["EOPNOTSUPP", "ENOSYS"];
const LACKING_HINT = "its provider or the installed rdma-core does not have it";

/** What a call says it could not do, and its hints, but for those that any call has. */
export function linesOf(errors: readonly VerbsError[]): string[] {
  for (const { code, hint = "" } of errors) {
    if (hint.endsWith(LACKING_HINT) || hint === "") {
      assertEquals(hint !== "", LACKING.includes(code), code);
    }
  }
  const actions = new Set(errors.map(({ message, verb }) => message.split(`: ${verb} `)[0]!));
  const hinted = errors.filter(({ code, hint }) =>
    hint && !(code in OF_PROCESS) && !hint.endsWith(LACKING_HINT)
  );
  const hints = Map.groupBy(hinted, ({ hint }) => hint).entries().map(([hint, of]) =>
    `${of.length > 100 ? "any" : of.map(({ code }) => code).join(" ")}: ${hint}`
  );
  return [...actions, ...hints];
}
