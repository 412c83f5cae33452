import { constants } from "./layout.ts";
import { libc } from "./libc.ts";

/** Whether the network namespace of this process has an interface with that index. */
export function hasNetdev(index: number): boolean {
  return libc().if_indextoname(index, new Uint8Array(constants.IF_NAMESIZE)) !== null;
}
