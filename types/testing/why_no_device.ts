import { isFfiGranted, whyNoFfi } from "../../ffi/permission.ts";
import { checkPlatform } from "../../ffi/platform.ts";
import { Context } from "../device/context.ts";
import { openLibraries } from "./libraries.ts";

/**
 * Why tests cannot use a device here. It throws nothing and asks no person for a permission, so it can decide at the top level
 * of a test file which tests are ignored. With a permission broker (`DENO_PERMISSION_BROKER_PATH`) it asks that, and opens the
 * libraries as the import does with `--allow-ffi`.
 *
 * @param device The name of the device that the tests use, such as `rxe0`. If it is left out, any device
 * with an active port does, as for `Context.open()`.
 * @returns The reason in a line; `undefined` if the device can be opened.
 *
 * @example A test that is ignored, with the reason, where there is no device
 * ```ts
 * import { Context } from "@rdma/ibverbs";
 * import { whyNoDevice } from "@rdma/ibverbs/testing";
 *
 * const reason = whyNoDevice();
 * Deno.test({
 *   name: `the device has a port${reason === undefined ? "" : `: ${reason}`}`,
 *   ignore: reason !== undefined,
 *   fn: () => {
 *     using context = Context.open();
 *     if (context.queryDevice().physPortCnt < 1) throw new Error("the device has no port");
 *   },
 * });
 * ```
 *
 * @category Tests
 */
export function whyNoDevice(device?: string): string | undefined {
  try {
    checkPlatform();
    const reason = whyNoFfi();
    if (reason !== undefined) return reason;
    // By a permission broker: the import has opened nothing.
    if (!isFfiGranted()) openLibraries();
    Context.open(device).close();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.split("\n").join(" ") : String(error);
  }
}
