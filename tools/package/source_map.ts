/** Source maps of the bundles: stack traces lead to the sources by them. */

import { decode, encode } from "npm:@jridgewell/sourcemap-codec@1.6.0";

/** Literals and nothing else: no stack trace leads there. */
const LITERALS = "/ffi/layout.ts";

/**
 * Leaves in a map only the first place of each line of the sources, and no names: Deno reads it each time a program starts, and
 * whole maps are larger than the bundles. Returns undefined for a map without places.
 */
export function shrinkMap(text: string): string | undefined {
  const map = JSON.parse(text);
  if (map.sources.length === 0) return undefined;
  const literals = map.sources.findIndex((source: string) => source.endsWith(LITERALS));
  let last = "";
  const lines = decode(map.mappings).map((segments) =>
    segments.filter(([, source, line], i) => {
      if (source === literals) return false;
      const isKept = i === 0 || `${source}:${line}` !== last;
      if (isKept) last = `${source}:${line}`;
      return isKept;
    }).map((
      [at, source, line, column],
    ): [number, number, number, number] => [at, source!, line!, column!])
  );
  return JSON.stringify({ ...map, mappings: encode(lines), names: [] });
}
