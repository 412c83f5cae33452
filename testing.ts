/**
 * Helpers for tests of programs. **Import it in each test file**: `import "@rdma/ibverbs/testing"` is enough.
 *
 * ```ts
 * import { whyNoDevice } from "@rdma/ibverbs/testing";
 *
 * console.log(whyNoDevice() ?? "there is a device");
 * ```
 *
 * `deno test` fails a test that opens a library which stays open:
 * `A dynamic library was loaded during the test, but not unloaded`. That is its resource sanitizer, which Deno 2.7 has
 * on by default, and later ones with `--sanitize-resources`. `@rdma/ibverbs` opens libibverbs, librdmacm and libefa
 * when they are first used, and keeps them. When this module is imported, before any test, it opens those that the host
 * has. Without `--allow-ffi` it does nothing, and it never prompts.
 *
 * **Where to go next.**
 *
 * - What a test leaves open: `checkLeaks`.
 * - Tests that are ignored where there is no device: `whyNoDevice`.
 * - Tests in a virtual machine with a soft-RoCE device: `@rdma/rxe`.
 *
 * @module
 */

import "./types/testing/open_libraries.ts";

export { checkLeaks, type LeakCheck } from "./types/testing/check_leaks.ts";
export { whyNoDevice } from "./types/testing/why_no_device.ts";
