/** The kernels and userlands that a guest may have, and where they come from. */

import { SetupError } from "./report.ts";

/**
 * A kernel of the guest, by the first numbers of its version.
 *
 * @category Options
 */
export type KernelName = "6.1" | "6.12" | "7.3";

/**
 * A release of Debian whose programs and libraries the guest may have.
 *
 * @category Options
 */
export type UserlandName = "11" | "12" | "13" | "sid";

interface Release {
  /** Its name in Debian's archive. */
  readonly suite: string;
  /** The approximate size of the download. */
  readonly megabytes: number;
}

export const USERLANDS: Readonly<Record<UserlandName, Release>> = {
  "11": { suite: "bullseye", megabytes: 150 },
  "12": { suite: "bookworm", megabytes: 160 },
  "13": { suite: "trixie", megabytes: 190 },
  sid: { suite: "sid", megabytes: 200 },
};

/** A kernel's modules are built in the userland that the kernel was built in. */
export const KERNELS: Readonly<Record<KernelName, Release & { readonly userland: UserlandName }>> =
  {
    "6.1": { suite: "bookworm", megabytes: 70, userland: "12" },
    "6.12": { suite: "trixie", megabytes: 108, userland: "13" },
    "7.3": { suite: "trixie-backports", megabytes: 122, userland: "13" },
  };

/**
 * The entry of a table for a name.
 *
 * @throws {SetupError} If the table does not have it.
 */
export function known<K extends string, T>(
  table: Readonly<Record<K, T>>,
  what: string,
  name: K,
): T {
  if (Object.hasOwn(table, name)) return table[name];
  const names = Object.keys(table).join(", ");
  throw new SetupError(`There is no ${what} ${JSON.stringify(name)}, only ${names}`);
}
