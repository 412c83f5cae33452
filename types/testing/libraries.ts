import { bindEfa } from "../../ffi/efa.ts";
import { bindAll } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import { bindRdmacm } from "../../ffi/rdmacm.ts";

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
