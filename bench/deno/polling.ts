/** Polling a completion queue that is empty. */

import { CompletionQueue, type Context, WorkCompletions } from "../../mod.ts";
import { inlineVerbs } from "../../ffi/inlines.ts";
import { structs } from "../../ffi/layout.ts";
import { Clock, type Plan } from "./clock.ts";

let queue: CompletionQueue | undefined;

function emptyQueue(context: Context): CompletionQueue {
  return queue ??= new CompletionQueue(context, { cqe: 1, channel: null });
}

/** By the library. */
export function pollEmpty(context: Context, plan: Plan): number {
  const cq = emptyQueue(context);
  const batch = new WorkCompletions(1);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) cq.pollInto(batch);
  }
  return clock.middle;
}

/** By what Deno offers for a function pointer, at its best: the pointer is looked up once. */
export function pollEmptyByPointer(context: Context, plan: Plan): number {
  const cq = emptyQueue(context).unsafeHandle;
  const { pointer } = new WorkCompletions(1);
  const { definition } = inlineVerbs.ibv_poll_cq;
  const object = new Deno.UnsafePointerView(cq).getPointer(structs.ibv_cq.fields.context.offset)!;
  const op = structs.ibv_context.fields["ops.poll_cq"].offset;
  const address = new Deno.UnsafePointerView(object).getPointer(op)!;
  const poll = new Deno.UnsafeFnPointer(
    address as Deno.PointerObject<typeof definition>,
    definition,
  );
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) poll.call(cq, 1, pointer);
  }
  return clock.middle;
}
