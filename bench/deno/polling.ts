/** Calls that do nothing, and polling. */

import { CompletionQueue, type Context, WorkCompletions } from "../../mod.ts";
import { libibverbs } from "../../ffi/library/discovery.ts";
import { slowCalls } from "../../ffi/library/slow.ts";
import { cqVerbs } from "../../ffi/verbs/cq.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { Clock, consume, type Plan, timeOfSteps } from "./clock.ts";
import { EMPTY } from "./datagrams.ts";

/**
 * Calls of one loop, and of one turn of it. V8's second compiler calls by 60 to 600 ns and not by 6, and leaves it at that
 * where it has put a loop into its caller. It does not do so with a loop that is this long.
 */
const CALLS = 1000;
const CALLS_PER_TURN = 8;

type Loop = (pointer: Deno.PointerObject) => number;

/** A loop over an exported function that does nothing. It is opened once: V8 calls directly only what never changes. */
function noopLoop(): Loop {
  const { noop_3: f } = openProvider({
    noop_3: { parameters: ["pointer", "i32", "pointer"], result: "i32" },
  }).symbols;
  return (p) => {
    let sum = 0;
    for (let i = 0; i < CALLS; i += CALLS_PER_TURN) {
      sum += f(p, 1, p) + f(p, 1, p) + f(p, 1, p) + f(p, 1, p);
      sum += f(p, 1, p) + f(p, 1, p) + f(p, 1, p) + f(p, 1, p);
    }
    return sum;
  };
}

/** Functions of the no-op provider. */
export function openProvider<T extends Deno.ForeignLibraryInterface>(
  symbols: T,
): Deno.DynamicLibrary<T> {
  return Deno.dlopen(Deno.env.get("IBVERBS_LIBRARY")!, symbols);
}

let loop: Loop | undefined;

/** The least that any call takes. */
export function exported(context: Context, plan: Plan): number {
  const run = loop ??= noopLoop();
  const pointer = context.unsafeHandle as Deno.PointerObject;
  return timeOfSteps(plan, CALLS, () => run(pointer));
}

function emptyQueue(context: Context): CompletionQueue {
  return new CompletionQueue(context, { cqe: 1, channel: null, compVector: EMPTY });
}

export function pollEmpty(context: Context, plan: Plan): number {
  const [cq, batch] = [emptyQueue(context), new WorkCompletions(1)];
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) for (let i = 0; i < plan.count; i++) sum += cq.pollInto(batch);
  consume(sum);
  return clock.middle;
}

/** Without thunks: by Deno's own call of a function pointer. */
export function pollEmptyWithoutThunks(context: Context, plan: Plan): number {
  const cq = emptyQueue(context).unsafeHandle;
  const pointer = Deno.UnsafePointer.of(new Uint8Array(64));
  const poll = slowCalls(libibverbs).bind("ibv_poll_cq", cqVerbs.ibv_poll_cq as NativeRow);
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) for (let i = 0; i < plan.count; i++) sum += poll(cq, 1, pointer) as number;
  consume(sum);
  return clock.middle;
}
