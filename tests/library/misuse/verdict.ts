// Which errors are useful to a caller.

import { VerbsError, WorkCompletionError } from "../../../mod.ts";
import { isOfEngine, isOfReceivers } from "../../engine_words.ts";
import { allCalls } from "../registry/calls.ts";
import { Boom } from "./values.ts";

/** V8 itself refuses objects that only look like those of a class; there is no useful advice. */
const FORGED = / is (forged|copied|proxy.*|revoked proxy|boxed number)$/;

/** V8 itself says that a method was called on another value; it is the language's own mistake to make. */
const RECEIVER = /: this is /;

/** The caller's signal or host name says what happened, not this module. */
const OF_OTHERS =
  /signal (is proxy without properties|says that it has aborted)|^connectRc.*hostname|^listenRc.*hostname|^UdConn#lookup.*hostname/;

/** ./ffi says that it does not check its arguments: it is only asked not to crash. */
const FFI = new Set(
  allCalls().filter(({ callable: { module } }) => module === "ffi/mod.ts").map(({ name }) => name),
);

/**
 * These take no time to check their argument, on the hot path, and reach only memory of JavaScript: any error will do.
 */
const UNCHECKED = /^(WorkCompletionList(Ex)?#(?!at)\w+|new (Efa)?WorkCompletionList(Ex)?):/;

/** The language's own classes, and Deno's for what ./net says. */
const KNOWN = [TypeError, RangeError, SyntaxError, ...Object.values(Deno.errors)];

/** What is wrong with an error; nothing if it says what the caller can do. */
export function verdict(error: unknown, id = ""): string[] {
  if (error instanceof Error && (UNCHECKED.test(id) || FFI.has(id.split(":")[0]!))) return [];
  if (OF_OTHERS.test(id)) return [];
  if (error instanceof SuppressedError) {
    return [...verdict(error.error, id), ...verdict(error.suppressed, id)];
  }
  if (error instanceof Boom || error instanceof DOMException) return [];
  if (!(error instanceof Error)) return [`It threw ${typeof error}`];
  const { message } = error;
  if (error instanceof TypeError && RECEIVER.test(id)) return [];
  if (error instanceof TypeError && FORGED.test(id) && isOfReceivers(error)) return [];
  const isKnown = error instanceof VerbsError || error instanceof WorkCompletionError ||
    KNOWN.some((type) => error instanceof type);
  // ./net throws what the system says about TCP.
  if (isKnown && / \(os error \d+\)$/.test(message)) return [];
  // Deno refuses to take it for 0, and most numbers are not copied.
  if (/ is -0$/.test(id) && error instanceof TypeError) return [];
  if (!isKnown) return [`${error.name}: ${message}`];
  const isOurs =
    /^(Cannot |The connection is broken|The work request|Work request)/.test(message) &&
    !isOfEngine(error);
  return isOurs ? [] : [`${error.name} in other words: ${message.slice(0, 200)}`];
}
