/** The functions of libefa, which is opened when one of them is first called. */

import { type Efa, efaRows } from "./efa/functions.ts";
import { BoundLibrary } from "./library/bound.ts";
import { libefa } from "./library/discovery.ts";

const bound = new BoundLibrary<Efa, Record<never, never>>(libefa, () => efaRows);

/**
 * All functions of libefa, by their C names. A function is bound when it is first read. One that the installed version
 * lacks fails with EOPNOTSUPP.
 *
 * @throws {Deno.errors.NotFound} If there is no libefa. The message names every path tried, and the package to install.
 * @category Calls of verbs
 */
export function efa(): Efa {
  return bound.functions;
}

/** Opens the library and binds every function now, before tests look for resources that are left open. */
export function bindEfa(): void {
  bound.bindAll();
}
