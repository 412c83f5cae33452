/** What messages leave behind on the heap. */

import type { Context } from "../../mod.ts";
import type { Plan } from "./clock.ts";
import { postPoll } from "./posting.ts";

/** Bytes of heap, garbage included, that so many prepared messages took. Needs `--expose-gc`. */
export function growth(context: Context, plan: Plan): number {
  // compiled code lies on the heap too
  postPoll(context, plan);
  (globalThis as unknown as { gc: () => void }).gc();
  const before = Deno.memoryUsage().heapUsed;
  postPoll(context, plan);
  return Math.max(0, Deno.memoryUsage().heapUsed - before);
}
