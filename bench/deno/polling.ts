/** Polling a completion queue that is empty. */

import { CompletionQueue, type Context, WorkCompletions } from "../../mod.ts";
import { slowCalls } from "../../ffi/library/slow.ts";
import { cqVerbs } from "../../ffi/verbs/cq.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { pointerOf } from "../../types/completion/work_completions.ts";
import { Clock, type Plan } from "./clock.ts";

let queue: CompletionQueue | undefined;

function emptyQueue(context: Context): CompletionQueue {
  return queue ??= new CompletionQueue(context, { cqe: 1, channel: null });
}

/** With this library. */
export function pollEmpty(context: Context, plan: Plan): number {
  const cq = emptyQueue(context);
  const batch = new WorkCompletions(1);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) cq.pollInto(batch);
  }
  return clock.middle;
}

/** Without thunks: by Deno's own call of a function pointer. */
export function pollEmptyWithoutThunks(context: Context, plan: Plan): number {
  const cq = emptyQueue(context).unsafeHandle;
  const pointer = pointerOf(new WorkCompletions(1));
  const poll = slowCalls.bind("ibv_poll_cq", cqVerbs.ibv_poll_cq as NativeRow);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) poll(cq, 1, pointer);
  }
  return clock.middle;
}
