import type { Gid } from "../mod.ts";

/** A GID as eight groups of four digits, none of them left out. */
export function fullGid(gid: Gid): string {
  return gid.bytes.toHex().match(/.{4}/g)!.join(":");
}
