import { settled } from "../../wait/descriptors.ts";
import { beginNotes, endNotes, isPart, type Made } from "../../internal/left_open.ts";
import { nextTurn } from "../../wait/turns.ts";
import { isOpen, isResource, lifetimeOf, type Resource, rootOf } from "../core/resource.ts";

/**
 * Looks for objects that are made and left open, until it is disposed: see `checkLeaks`.
 *
 * @category Tests
 */
export interface LeakCheck extends Disposable, AsyncDisposable {
  /**
   * Ends the check. It closes what was left open.
   *
   * @throws {Error} If something was left open. The message names each object, and the line that made it.
   */
  [Symbol.dispose](): void;
  /**
   * Ends the check, as `[Symbol.dispose]` does, and waits until nothing waits for events of closed objects any more.
   * After that the sanitizers of `deno test` find nothing of the library.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds what a test leaves open: connections, listeners, contexts, and all objects of a device that are made while the
 * check lasts. Make it first in a test, with `using`: it then ends last, after what the test has opened with `using` is
 * closed.
 *
 * What was left open is named by its class, with the line of the program that made it. The objects that were made from
 * it, and the parts of a connection, are not named. Then all of it is closed, so that it does not disturb the tests
 * that follow. What was made before the check, such as a device that all tests of a file share, may stay open.
 *
 * The sanitizers of `deno test` do not find verbs objects. Of an open connection they find only timers, also in each
 * test that follows.
 *
 * @example A test that leaves nothing open
 * ```ts
 * import { Context, ProtectionDomain } from "@rdma/ibverbs";
 * import { checkLeaks, whyNoDevice } from "@rdma/ibverbs/testing";
 *
 * const ignore = whyNoDevice() !== undefined;
 * Deno.test({
 *   name: "the device has protection domains",
 *   ignore,
 *   fn: () => {
 *     using _leaks = checkLeaks();
 *     using context = Context.open(); // without "using" the test fails: Context { device: "rxe0" }, made at ...
 *     new ProtectionDomain(context);
 *   },
 * });
 * ```
 *
 * @example All tests of a file
 * ```ts
 * import { checkLeaks, type LeakCheck } from "@rdma/ibverbs/testing";
 *
 * let leaks: LeakCheck;
 * Deno.test.beforeEach(() => {
 *   leaks = checkLeaks();
 * });
 * Deno.test.afterEach(() => leaks[Symbol.asyncDispose]());
 * ```
 *
 * @returns The check. Use `await using` for it where the test has connections.
 * @category Tests
 */
export function checkLeaks(): LeakCheck {
  const made = beginNotes();
  const end = (): void => {
    endNotes(made);
    const left = leftOpen(made);
    made.clear();
    if (left.length === 0) return;
    const message = messageOf(left);
    const errors = left.reverse().flatMap(([object]) => close(object));
    throw new Error(message, errors.length > 0 ? { cause: errors[0] } : undefined);
  };
  return {
    [Symbol.dispose]: end,
    [Symbol.asyncDispose]: async () => {
      try {
        end();
      } finally {
        await settled();
        await nextTurn();
      }
    },
  };
}

type Left = readonly [object: Disposable, place: string];

/** The open objects that no other open object closes. */
function leftOpen(made: Made): Left[] {
  const open = [...made].filter(([object]) => isLeft(object));
  const objects = new Set(open.map(([object]) => object));
  return open.filter(([object]) => !ancestorsOf(object).some((one) => objects.has(one)));
}

function isLeft(object: Disposable): boolean {
  if (isPart(object)) return false;
  return !isResource(object) || isOpen(object) && !isPart(rootOf(object));
}

function ancestorsOf(object: Disposable): Resource[] {
  if (!isResource(object)) return [];
  const { parents } = lifetimeOf(object);
  return [...parents, ...parents.flatMap(ancestorsOf)];
}

/** Closes an object. Returns the error if that fails. */
function close(object: Disposable): unknown[] {
  try {
    object[Symbol.dispose]();
    return [];
  } catch (error) {
    return [error];
  }
}

function messageOf(left: readonly Left[]): string {
  const count = left.length === 1 ? "an object" : `${left.length} objects`;
  const lines = left.map(([object, place]) => `  ${nameOf(object)}, made at ${place}`);
  return `The test leaves ${count} open; use "using", or close():\n${lines.join("\n")}`;
}

function nameOf(object: Disposable): string {
  return isResource(object) ? Deno.inspect(object, { colors: false }) : object.constructor.name;
}
