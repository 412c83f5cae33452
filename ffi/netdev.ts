import { libc } from "./libc.ts";

/** Bytes that a name may have, with the zero at its end. */
const IF_NAMESIZE = 16;

/** Whether the network namespace of this process has an interface with that index. */
export function hasNetdev(index: number): boolean {
  return libc().if_indextoname(index, new Uint8Array(IF_NAMESIZE)) !== null;
}
