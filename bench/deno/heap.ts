/** What messages leave behind on the heap. */

import type { Context } from "../../mod.ts";
import { postPollLow } from "./datagrams.ts";

/** Bytes of heap, garbage included, that `count` prepared messages took. Needs `--expose-gc`. */
export function growth(context: Context, count: number): number {
  // compiled code lies on the heap too
  postPollLow(context, count);
  (globalThis as unknown as { gc: () => void }).gc();
  const before = Deno.memoryUsage().heapUsed;
  postPollLow(context, count);
  return Deno.memoryUsage().heapUsed - before;
}
