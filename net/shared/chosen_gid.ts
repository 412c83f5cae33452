import type { Context, Gid } from "../../mod.ts";

/**
 * The GID at an index that the caller chose.
 *
 * @throws {Deno.errors.NotFound} If the port has no GID there.
 */
export function chosenGid(context: Context, port: number, gidIndex: number): Gid {
  const entry = context.gidTable(port).find((entry) => entry.gidIndex === gidIndex);
  if (entry !== undefined) return entry.gid;
  throw new Deno.errors.NotFound(
    `Cannot use GID index ${gidIndex}: port ${port} of ${context.device.name} has no GID there`,
  );
}
