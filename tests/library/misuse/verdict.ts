// Which errors are useful to a caller.

import { VerbsError, WorkCompletionError } from "../../../mod.ts";
import { Boom } from "./values.ts";

/** V8's and Deno's own words. They name nothing that the caller knows. */
const FOREIGN = [
  /^Cannot (read|set) propert/,
  /^Cannot (destructure|convert|mix|perform|create proxy|assign|redefine|define|delete)/,
  /^Cannot create property/,
];

/** V8 itself refuses objects that only look like those of a class; there is no useful advice. */
const FORGED = / is (forged|copied|proxy.*|revoked proxy|boxed number)$/;

/**
 * These take no time to check their argument, on the hot path, and reach only memory of JavaScript: any error will do.
 */
const UNCHECKED = /^(WorkCompletions(Ex)?#(?!at)\w+|new WorkCompletions(Ex)?):/;

/** What is wrong with an error; nothing if it tells the caller what to do. */
export function verdict(error: unknown, id = ""): string[] {
  if (UNCHECKED.test(id) && error instanceof Error) return [];
  if (error instanceof SuppressedError) {
    return [...verdict(error.error, id), ...verdict(error.suppressed, id)];
  }
  if (error instanceof Boom || error instanceof DOMException) return [];
  if (!(error instanceof Error)) return [`It threw ${typeof error}`];
  const { message } = error;
  if (error instanceof TypeError && FORGED.test(id)) return [];
  const isKnown = error instanceof VerbsError || error instanceof WorkCompletionError ||
    [TypeError, RangeError, SyntaxError, Deno.errors.NotFound].some((type) =>
      error instanceof type
    );
  if (!isKnown) return [`${error.name}: ${message}`];
  const isOurs = /^(Cannot |The work request|Work request)/.test(message) &&
    !FOREIGN.some((pattern) => pattern.test(message));
  return isOurs ? [] : [`${error.name} in other words: ${message.slice(0, 200)}`];
}
