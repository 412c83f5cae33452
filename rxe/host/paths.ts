/** Where things are kept between runs. */

import { homedir } from "node:os";
import { resolve } from "node:path";

/**
 * The folder of everything downloaded or built: IBVERBS_CACHE, or `ibverbs` in the user's cache
 * folder.
 */
export function cacheFolder(): string {
  return resolve(Deno.env.get("IBVERBS_CACHE") || `${userCache()}/ibverbs`);
}

/** The folder in which programs of this user keep files that they can make again. */
export function userCache(): string {
  const { XDG_CACHE_HOME, HOME } = Deno.env.toObject();
  return XDG_CACHE_HOME || `${HOME || homedir()}/.cache`;
}
