/** Why there is no device. */

import { textOf } from "../../ffi/library/remedy.ts";

/** More than hosts have; the numbers of the device files have gaps. */
const MOST_FILES = 32;

const REMEDY =
  'Load the driver of the adapter, or add a soft-RoCE device with "rdma link add rxe0 type rxe netdev NETDEV"; ' +
  'without hardware, run the program in a virtual machine: "deno run -A jsr:@rdma/rxe -- COMMAND"';

/**
 * Why libibverbs lists no device, and what to do.
 *
 * @param folder Where the kernel lists the device files.
 */
export function causeOfNone(folder = "/sys/class/infiniband_verbs"): string {
  const files = Array.from({ length: MOST_FILES }, (_, i) => `${folder}/uverbs${i}/ibdev`);
  const names = files.map((file) => textOf(file).trim()).filter((name) => name !== "");
  if (names.length > 0) {
    const lacks = `libibverbs has no provider for ${names.join(", ")}`;
    return `There is no RDMA device that can be used: ${lacks}. Install its providers (ibverbs-providers)`;
  }
  const isLoaded = textOf(`${folder}/abi_version`) !== "";
  const cause = isLoaded ? "the kernel has none" : "the kernel module ib_uverbs is not loaded";
  return `There is no RDMA device: ${cause}. ${REMEDY}`;
}
