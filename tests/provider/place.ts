// Puts another library in libibverbs' place.

import { bindAll, library } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";

/** Must be called before anything else opens libibverbs. */
export function takePlaceOfLibibverbs(path: string): void {
  const before = Deno.env.get("IBVERBS_LIBRARY");
  Deno.env.set("IBVERBS_LIBRARY", path);
  try {
    if (library().path !== path) throw new Error(`Cannot use ${path}: libibverbs is open already`);
    // Binding a verb opens a library, which must not happen within a test.
    bindAll();
    openSteps();
  } finally {
    // Other test files share the environment.
    if (before === undefined) Deno.env.delete("IBVERBS_LIBRARY");
    else Deno.env.set("IBVERBS_LIBRARY", before);
  }
}
