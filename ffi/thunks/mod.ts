/**
 * Static-inline verbs have no symbol: they jump through function pointers. A thunk is a few bytes of machine code that
 * does the same jump and has a symbol, so that `Deno.dlopen` can bind it as cheaply as any exported function.
 */
export type { Arch, Thunk } from "./thunk.ts";
export { buildImage } from "./image.ts";
export { loadImage } from "./memfd.ts";
export { ThunksUnavailable } from "./unavailable.ts";
