/** What messages leave behind on the heap. */

import type { Context } from "../../mod.ts";
import type { Plan } from "./clock.ts";
import { postPollLow } from "./datagrams.ts";

/** Bytes of heap, garbage included, that so many prepared messages took. Needs `--expose-gc`. */
export function growth(context: Context, plan: Plan): number {
  // compiled code lies on the heap too
  postPollLow(context, plan);
  (globalThis as unknown as { gc: () => void }).gc();
  const before = Deno.memoryUsage().heapUsed;
  postPollLow(context, plan);
  return Deno.memoryUsage().heapUsed - before;
}
