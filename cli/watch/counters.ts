/** The counters that the kernel has of a port. */

import { listSysfs, readSysfs } from "../shell/sysfs.ts";

/** Folders of a port that have counters: those of the InfiniBand specification, and those of the driver. */
const FOLDERS = ["counters", "hw_counters"];

/** Not a counter: how long the kernel keeps values of `hw_counters`, in milliseconds. */
const LIFESPAN = "lifespan";

/** Values of counters by their names. */
export type Counters = ReadonlyMap<string, bigint>;

/** Whether the program may read counters. */
export function canReadCounters(): boolean {
  return listSysfs("class/infiniband") !== undefined;
}

/** Reads all counters of a port. Counters that cannot be read are left out. */
export function readCounters(device: string, port: number): Counters {
  const counters = new Map<string, bigint>();
  for (const folder of FOLDERS) {
    const path = `class/infiniband/${device}/ports/${port}/${folder}`;
    for (const name of listSysfs(path) ?? []) {
      const text = name === LIFESPAN ? "" : readSysfs(`${path}/${name}`) ?? "";
      if (/^\d+$/.test(text)) counters.set(name, BigInt(text));
    }
  }
  return counters;
}
