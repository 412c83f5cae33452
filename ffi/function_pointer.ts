/** A function of any prototype. */
// deno-lint-ignore no-explicit-any
export type AnyFunction = (...args: any[]) => any;

/** A pointer to a function of C. */
export type FunctionPointer = Deno.PointerObject<Deno.ForeignFunction>;

/** A function that calls through a pointer. Deno compiles nothing for it, and each call takes 0.6 us. */
export function callThrough(
  pointer: FunctionPointer,
  { parameters, result }: Pick<Deno.ForeignFunction, "parameters" | "result">,
): AnyFunction {
  const caller = new Deno.UnsafeFnPointer(pointer, { parameters, result });
  return caller.call.bind(caller);
}
