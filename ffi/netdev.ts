import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { cString } from "./pointers.ts";

/** Whether the network namespace of this process has an interface with that index. */
export function hasNetdev(index: number): boolean {
  return libc().if_indextoname(index, new Uint8Array(constants.IF_NAMESIZE)) !== null;
}

/** The index of the network interface with a name; 0 if the network namespace of this process has none. */
export function netdevIndex(name: string): number {
  // C would end the name at a zero character.
  return name.includes("\0") ? 0 : libc().if_nametoindex(cString(name));
}
