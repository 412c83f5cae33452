/**
 * Puts the device of native speed in libibverbs' place for the test file that imports this, before anything else opens
 * libibverbs. All test files of a process are on one network, which other processes can join. See README.md.
 */

import { shmPath } from "./compile.ts";
import { takePlaceOfLibibverbs } from "./place.ts";

/** The name of the device. */
export const DEVICE = "shm0";

const path = await shmPath();
takePlaceOfLibibverbs(path);
const { symbols } = Deno.dlopen(path, {
  shm_descriptor: { parameters: [], result: "i32" },
  shm_lost: { parameters: [], result: "u64" },
});

/** The variables of another process that this library runs in, on the network of this one. */
export const environment: Readonly<Record<string, string>> = {
  IBVERBS_LIBRARY: path,
  IBVERBS_SHM: `/proc/${Deno.pid}/fd/${symbols.shm_descriptor()}`,
};

/** The same for a program in C. */
export const environmentOfC: Readonly<Record<string, string>> = {
  ...environment,
  LD_PRELOAD: path,
};

/** How many datagrams nobody has received on this network. */
export function lost(): number {
  return Number(symbols.shm_lost());
}
