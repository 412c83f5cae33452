/** How long it takes to wake up. See ../c/waiting.h. */

import { CompletionChannel, CompletionQueue, type Context, WorkCompletions } from "../../mod.ts";
import { libc } from "../../ffi/libc.ts";
import type { Plan } from "./clock.ts";
import { LIST } from "./datagrams.ts";
import { monotonic, onSameScale } from "./monotonic.ts";
import { EVENTS } from "./provider.ts";

const POLLIN = 1;

function eventQueue(context: Context): CompletionQueue {
  const channel = new CompletionChannel(context);
  return new CompletionQueue(context, { cqe: 2 * LIST, channel, compVector: EVENTS });
}

function middle(waited: readonly number[]): number {
  return waited.toSorted((a, b) => a - b)[waited.length >> 1]!;
}

/** Asleep in `completions()`: nanoseconds from the event until its completion is here. */
export async function wakeUp(context: Context, { count }: Plan): Promise<number> {
  const waited: number[] = [];
  for await (const wc of eventQueue(context).completions()) {
    waited.push(monotonic() - onSameScale(wc.check().wrId));
    if (waited.length === count) break;
  }
  return middle(waited);
}

/** Asleep in a bare nonblocking call of poll(2): until Deno goes on behind it, which is the least it can take. */
export async function wakeUpFloor(context: Context, { count }: Plan): Promise<number> {
  const cq = eventQueue(context);
  const channel = cq.channel!;
  const descriptors = Int32Array.of(channel.fd, POLLIN);
  const batch = new WorkCompletions(LIST);
  const waited: number[] = [];
  while (waited.length < count) {
    cq.reqNotify();
    await libc().poll(descriptors, 1n, -1);
    const then = monotonic();
    await channel.getCqEvent();
    if (cq.pollInto(batch) === 1) waited.push(then - onSameScale(batch.wrId(0)));
  }
  return middle(waited);
}
