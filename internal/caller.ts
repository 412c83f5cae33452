/** Errors point at the line of the program that made the call, not at what the library did then. */

/** The folder of the library: of its sources, or of the bundles that are published. */
const ROOT: string = new URL("..", import.meta.url).href;
/** The folders of the library, beside examples and tests. */
export const LIBRARY: readonly string[] = ["types", "net", "wait", "internal", "ffi"];
const FOLDERS = [...LIBRARY, "dist"].map((name) => `${ROOT}${name}/`);

/** A function or a class, to which a stack can be cut. */
// deno-lint-ignore ban-types -- any of them
type Called = Function;

/** Cuts the stack of a new error so that it starts at the caller of a function: of a check, for instance. */
export function ofCaller<E extends Error>(error: E, inside: Called): E {
  Error.captureStackTrace(error, inside);
  return error;
}

/**
 * Runs the body of a function. The stack of an error of the library that it throws starts at the caller of the
 * function.
 */
export function cutTo<T>(inside: Called, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw toCaller(error, inside);
  }
}

/**
 * Gives an error of the library the stack of the call that it ends: the first frame is the public method, and the
 * second one the line of the program that called or awaited it. What a program has thrown itself keeps its stack. The
 * public method calls this where it catches the error.
 *
 * @param inside The function that calls this: it and what it has called are not in the stack.
 */
export function toCaller(error: unknown, inside: Called): unknown {
  if (!(error instanceof Error) || !isOfLibrary(error)) return error;
  const place: { stack?: string } = {};
  Error.captureStackTrace(place, inside);
  // If the program does not await the call, no line of it is in the stack: the place where the library failed is kept.
  if (framesOf(place).some((frame) => !isInLibrary(frame))) Error.captureStackTrace(error, inside);
  return error;
}

/** Whether the library has thrown an error on purpose: its messages have a colon, those of engines have none. */
function isOfLibrary(error: Error): boolean {
  try {
    const [first] = framesOf(error);
    return first !== undefined && isInLibrary(first) && error.message.includes(": ") &&
      Object.isExtensible(error);
  } catch {
    // An error of the program may have getters that throw.
    return false;
  }
}

function framesOf({ stack }: { readonly stack?: string | undefined }): string[] {
  return typeof stack === "string" ? stack.split("\n").filter((line) => /^ +at /.test(line)) : [];
}

function isInLibrary(frame: string): boolean {
  return FOLDERS.some((folder) => frame.includes(folder));
}
