import { bindAll } from "../../ffi/library.ts";
import { openSteps } from "../../ffi/library/native_steps.ts";
import { bindRdmacm } from "../../ffi/rdmacm.ts";
import { PROVIDERS } from "../providers.ts";

/** Opens those libraries that this host has. It throws nothing: a call that needs one tells why. */
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
