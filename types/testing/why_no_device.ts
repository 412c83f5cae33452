import { isFfiGranted, whyNoFfi } from "../../ffi/permission.ts";
import { checkPlatform } from "../../ffi/platform.ts";
import { Context } from "../device/context.ts";
import { openLibraries } from "./libraries.ts";

/**
 * Why tests cannot use a device here. It never throws and never prompts, so it can decide at the top level of a test
 * file which tests are ignored. With a permission broker (`DENO_PERMISSION_BROKER_PATH`) it asks the broker, and opens
 * the libraries as the import does with `--allow-ffi`.
 *
 * @param device The name of the device that the tests use, such as `rxe0`. If it is left out, any device with an active
 * port will do, as for `Context.open()`.
 * @returns The reason in a few words, for the name of a test; `undefined` if the device can be opened. The error of
 * `Context.open()` has the remedy too.
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
    // With a permission broker the import has opened nothing.
    if (!isFfiGranted()) openLibraries();
    Context.open(device).close();
    return undefined;
  } catch (error) {
    return inShort(error instanceof Error ? error.message : `${error}`);
  }
}

/** The longest reason in characters: it is put into names of tests. */
const LONGEST = 70;

/** What follows the first part of a message, which may begin "Cannot open libibverbs: ". */
const PART_ENDS = /[.,;] |(?<!^Cannot open[^:]*): | \(|\n/;

/** What a message begins with, without remedies and lists. */
function inShort(message: string): string {
  const [first] = message.replace("Cannot open device: ", "").split(PART_ENDS, 1);
  return first!.length <= LONGEST ? first! : `${first!.slice(0, LONGEST - 3)}...`;
}
