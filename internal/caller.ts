/** Where an error comes from, for a program: the line of its own that made the call, and not what the library did then. */

/** The folder that has the library: its sources, or the bundles that are published. */
const ROOT: string = new URL("..", import.meta.url).href;
/** The folders of the library, beside examples and tests. */
export const LIBRARY: readonly string[] = ["types", "net", "wait", "internal", "ffi"];
const FOLDERS = [...LIBRARY, "dist"].map((name) => `${ROOT}${name}/`);

/** A function or a class, to which a stack can be cut. */
// deno-lint-ignore ban-types -- any of them
type Called = Function;

/**
 * Leaves out of the stack of a new error what is above a function and that function: a check has its caller for the first
 * frame.
 */
export function ofCaller<E extends Error>(error: E, inside: Called): E {
  Error.captureStackTrace(error, inside);
  return error;
}

/**
 * Runs the body of a function. What an error of the library has passed there, and the function itself, are left out of the
 * stack.
 */
export function cutTo<T>(inside: Called, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw toCaller(error, inside);
  }
}

/**
 * Gives an error of the library the stack of the call that it ends: that of the public method is the first frame, and
 * the line of the program that called or awaited it the second one. What a program has thrown itself keeps its stack.
 * It is called where the public method catches the error.
 *
 * @param inside The function that calls this: it and what it has called are left out.
 */
export function toCaller(error: unknown, inside: Called): unknown {
  if (!(error instanceof Error) || !isOfLibrary(error)) return error;
  const place: { stack?: string } = {};
  Error.captureStackTrace(place, inside);
  // Nobody awaits a call that is left alone: then the place where the library failed tells more.
  if (framesOf(place).some((frame) => !isInLibrary(frame))) Error.captureStackTrace(error, inside);
  return error;
}

/** Whether the library has made an error on purpose. Engines name no subject before their reason. */
function isOfLibrary(error: Error): boolean {
  try {
    const [first] = framesOf(error);
    return first !== undefined && isInLibrary(first) && error.message.includes(": ") &&
      Object.isExtensible(error);
  } catch {
    // An error of the caller's may have getters that throw.
    return false;
  }
}

function framesOf({ stack }: { readonly stack?: string | undefined }): string[] {
  return typeof stack === "string" ? stack.split("\n").filter((line) => /^ +at /.test(line)) : [];
}

function isInLibrary(frame: string): boolean {
  return FOLDERS.some((folder) => frame.includes(folder));
}
