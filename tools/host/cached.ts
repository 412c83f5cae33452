/** Things made once and kept in the cache. */

import { cache } from "./paths.ts";
import { exists } from "./shell.ts";

/**
 * The path of something in the cache, made first when it is not there.
 *
 * @param name its path below the cache; what is made gets that name only when it is whole.
 * @param make fills the empty folder it is given.
 */
export async function cached(
  name: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const path = `${cache}/${name}`;
  if (exists(path)) return path;
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  // Whoever comes second waits, and finds it made.
  using lock = await Deno.open(`${cache}/lock`, { create: true, write: true });
  await lock.lock(true);
  if (exists(path)) return path;
  const partial = `${path}.partial`;
  if (exists(partial)) await Deno.remove(partial, { recursive: true });
  await Deno.mkdir(partial);
  await make(partial);
  await Deno.rename(partial, path);
  return path;
}
