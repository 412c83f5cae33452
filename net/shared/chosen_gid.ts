import type { Context, GidEntry } from "../../mod.ts";

/**
 * The GID at an index that the caller chose.
 *
 * @throws {Deno.errors.NotFound} If the port has no GID there.
 */
export function chosenGid(context: Context, port: number, gidIndex: number): GidEntry {
  const entry = context.queryGidTable(port).find((entry) => entry.gidIndex === gidIndex);
  if (entry !== undefined) return entry;
  throw new Deno.errors.NotFound(
    `Cannot use GID index ${gidIndex}: port ${port} of ${context.device.name} has no GID there`,
  );
}

/**
 * Where a GID is now. An address that was removed and added again can have another index, because the kernel keeps the
 * old slot until the last handle that uses it is closed.
 *
 * @returns The slot with the same index if it has the GID; `undefined` if none has it.
 */
export function slotOf(
  entries: readonly GidEntry[],
  { gid, gidIndex, gidType }: GidEntry,
): GidEntry | undefined {
  const same = entries.filter((entry) => entry.gidType === gidType && entry.gid.equals(gid));
  return same.find((entry) => entry.gidIndex === gidIndex) ?? same[0];
}
