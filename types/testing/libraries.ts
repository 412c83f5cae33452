import { bindAll } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import { bindRdmacm } from "../../ffi/rdmacm.ts";
import { PROVIDERS } from "../providers.ts";

/**
 * Opens those libraries that this host has. It never throws: the call that needs a library reports why it is missing.
 */
export function openLibraries(): void {
  for (
    const open of [
      bindAll,
      openSteps,
      bindRdmacm,
      ...PROVIDERS.flatMap(({ bind }) => bind ?? []),
    ]
  ) {
    try {
      open();
    } catch {
      // The host lacks it.
    }
  }
}
