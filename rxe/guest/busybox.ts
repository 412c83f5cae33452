/**
 * The static shell of the guest's first moments, unpacked into the cache: installing it could
 * displace the host's own.
 */

import { withFreshLists } from "../host/apt.ts";
import { cached } from "../host/cached.ts";
import { downloadPackage, unpack } from "../host/packages.ts";
import { exists } from "../host/shell.ts";

/** The path of the program, fetched first when it is not in the cache. */
export async function ensureBusybox(): Promise<string> {
  const folder = await cached(
    "guest/busybox",
    (partial) => withFreshLists(() => fetchBusybox(partial)),
  );
  return `${folder}/busybox`;
}

async function fetchBusybox(folder: string): Promise<void> {
  const file = await downloadPackage("busybox-static", folder);
  await unpack(file, folder, ["*bin/busybox"]);
  await Deno.remove(file);
  // The package of Debian 12 has it in bin/, later ones in usr/bin/.
  const program = ["bin", "usr/bin"].map((name) => `${folder}/${name}/busybox`).find(exists);
  await Deno.rename(program!, `${folder}/busybox`);
}
