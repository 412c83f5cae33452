/**
 * The way without thunks: errno is read from the thread's own cell right after the call, and function pointers are
 * called by `Deno.UnsafeFnPointer`, at about 600 ns a call.
 *
 * @module
 */

import { mappedErrno, setErrno } from "./errno.ts";
import { type Inline, opPath } from "./inlines.ts";

// deno-lint-ignore no-explicit-any
type AnyFunction = (...args: any[]) => any;
type FunctionPointer = Deno.PointerObject<Deno.ForeignFunction>;

/** Wraps an exported verb so that its errno is kept. */
export function slowErrnoVerb(verb: AnyFunction): AnyFunction {
  const errno = mappedErrno();
  return (...args) => {
    errno[0] = 0;
    const value = verb(...args);
    setErrno(errno[0]!);
    return value;
  };
}

/** A static-inline verb by its function pointer. */
export function slowInline({ op, errno, definition }: Inline): AnyFunction {
  const path = opPath(op);
  const functions = new Map<bigint, AnyFunction>();
  const call: AnyFunction = (...args) => {
    const pointer = follow(args[0], path);
    const address = Deno.UnsafePointer.value(pointer);
    let f = functions.get(address);
    if (f === undefined) {
      const caller = new Deno.UnsafeFnPointer(pointer, definition);
      functions.set(address, f = caller.call.bind(caller) as AnyFunction);
    }
    return f(...args);
  };
  return errno ? slowErrnoVerb(call) : call;
}

function follow(object: Deno.PointerObject, path: readonly number[]): FunctionPointer {
  return path.reduce<FunctionPointer>(
    (at, offset) => new Deno.UnsafePointerView(at).getPointer(offset) as FunctionPointer,
    object as FunctionPointer,
  );
}

/**
 * A verb on another thread, whose errno is out of reach there: when it failed it is called once more on this thread,
 * to learn why, or to succeed after all.
 */
export function slowNonblocking(
  nonblocking: AnyFunction,
  sync: AnyFunction,
  errno: () => number,
): AnyFunction {
  return async (...args) => {
    const value = await nonblocking(...args);
    if (value !== null && value !== -1) return { value, errno: 0 };
    return { value: sync(...args), errno: errno() };
  };
}
