/** Opens what the library otherwise opens on first use, so that no test does. */

import { bindEfa } from "../../ffi/efa.ts";
import { bindAll } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import { isFfiGranted } from "../../ffi/permission.ts";
import { bindRdmacm } from "../../ffi/rdmacm.ts";
import { IS_DENO } from "../../internal/runtime.ts";

/** Opens those libraries that this host has. It throws nothing: a call that needs one tells why. */
export function openLibraries(): void {
  for (const open of [bindAll, openSteps, bindRdmacm, bindEfa]) {
    try {
      open();
    } catch {
      // The host lacks it.
    }
  }
}

if (IS_DENO && isFfiGranted()) openLibraries();
