/**
 * Whether this is Deno. Elsewhere nothing native can be called; what needs no library works all the same. Other runtimes may
 * have a `Deno` of a package, with some of its functions.
 */
export const IS_DENO: boolean = typeof globalThis.Deno?.permissions?.querySync === "function";

/** The architecture; where this is not Deno, one of those that are supported. */
export const ARCH: typeof Deno.build.arch = IS_DENO ? Deno.build.arch : "x86_64";

/** Throws where this is not Deno. */
export function requireDeno(): void {
  if (IS_DENO) return;
  throw new Error(
    "Cannot open libibverbs: @rdma/ibverbs calls it by the FFI of Deno. Run the program with Deno: https://deno.com",
  );
}

/** Makes a value when it is first asked for: what is made while modules load delays the start of every program. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
