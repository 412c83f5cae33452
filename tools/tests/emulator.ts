/** Runs machine code for aarch64 on this host: one program of a package that would fill 380 MB if installed. */

import { cached, downloadPackage, exists, unpack, withFreshLists } from "../host/setup.ts";

const PROGRAM = "usr/bin/qemu-aarch64-static";

/**
 * The folders in which programs are found, with one that holds the emulator.
 *
 * @param hidden Whether programs of the host's packages are out of sight.
 */
export async function pathWithEmulator(hidden = false): Promise<string> {
  const path = Deno.env.get("PATH") ?? "";
  if (exists(`/${PROGRAM}`) && !hidden) return path;
  const folder = await cached("qemu-user", async (partial) => {
    const file = await withFreshLists(() => downloadPackage("qemu-user-static", partial));
    await unpack(file, partial, [PROGRAM]);
    await Deno.remove(file);
  });
  return `${path}:${folder}/usr/bin`;
}
