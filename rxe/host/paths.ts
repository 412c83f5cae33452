/** Where things are kept between runs. */

/**
 * The folder of everything downloaded or built: IBVERBS_CACHE, or `ibverbs` in the user's cache
 * folder.
 */
export function cacheFolder(): string {
  return Deno.env.get("IBVERBS_CACHE") ?? `${userCache()}/ibverbs`;
}

/** The folder in which programs of this user keep what they can make again. */
export function userCache(): string {
  const { XDG_CACHE_HOME, HOME } = Deno.env.toObject();
  return XDG_CACHE_HOME || `${HOME || "/root"}/.cache`;
}
