/** The static shell of the guest's first moments, unpacked into the cache: installing it could displace the host's own. */

import { downloadPackage, unpack } from "../host/packages.ts";
import { cache } from "../host/paths.ts";
import { exists } from "../host/shell.ts";

/** The path of the program, fetched first when it is not in the cache. */
export async function ensureBusybox(): Promise<string> {
  const program = `${cache}/guest/busybox`;
  if (exists(program)) return program;
  const partial = `${cache}/guest/busybox.partial`;
  const file = await downloadPackage("busybox-static", partial);
  await unpack(file, partial, ["*bin/busybox"]);
  const unpacked = ["bin/busybox", "usr/bin/busybox"].map((name) => `${partial}/${name}`).find(
    exists,
  );
  await Deno.rename(unpacked!, program);
  await Deno.remove(partial, { recursive: true });
  return program;
}
