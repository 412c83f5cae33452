/**
 * Whether this is Deno. Other runtimes cannot call native code; what needs no library works there too. They may have a
 * `Deno` from a package, with some of its functions.
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

/** Makes a value on first use: what is made while modules load delays the start of every program. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
