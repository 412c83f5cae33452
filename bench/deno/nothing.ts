/** A program that does nothing: how long Deno takes to start. */
export {};
