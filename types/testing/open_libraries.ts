/**
 * Opens what the library otherwise opens on first use, so that no test does. It does nothing where it would have to ask
 * for a permission.
 */

import { isFfiGranted } from "../../ffi/permission.ts";
import { IS_DENO } from "../../internal/runtime.ts";
import { openLibraries } from "./libraries.ts";

if (IS_DENO && isFfiGranted()) openLibraries();
