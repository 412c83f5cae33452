/** Calls that do nothing, and polling. */

import {
  CompletionQueue,
  CompletionQueueEx,
  type Context,
  CreateCqWcFlags,
  WorkCompletions,
} from "../../mod.ts";
import { libibverbs } from "../../ffi/library/discovery.ts";
import { slowCalls } from "../../ffi/library/slow.ts";
import { cqVerbs } from "../../ffi/verbs/cq.ts";
import type { NativeRow } from "../../ffi/table/row.ts";
import { Clock, consume, type Plan, timeOfSteps } from "./clock.ts";
import { activeQueuePair, datagrams, EMPTY, LIST } from "./datagrams.ts";

type Loop = (pointer: Deno.PointerObject) => number;

/**
 * Calls of one loop, and of one turn of it. V8's second compiler calls by 60 to 600 ns and not by 6, and leaves it at that
 * where it has put a loop into its caller. It does not do so with a loop that is this long.
 */
const CALLS = 1000;
const CALLS_PER_TURN = 8;

/**
 * Loops over exported functions of the provider that do nothing, by the number of their arguments. Each function is opened
 * once and has a loop of its own: V8 calls directly only what never changes.
 */
const LOOPS: Readonly<Record<number, () => Loop>> = {
  0: () => {
    const { noop_0: f } = openProvider({ noop_0: { parameters: [], result: "i32" } }).symbols;
    return () => {
      let sum = 0;
      for (let i = 0; i < CALLS; i += CALLS_PER_TURN) {
        sum += f() + f() + f() + f() + f() + f() + f() + f();
      }
      return sum;
    };
  },
  3: () => {
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
  },
};

/** Functions of the no-op provider. */
export function openProvider<T extends Deno.ForeignLibraryInterface>(
  symbols: T,
): Deno.DynamicLibrary<T> {
  return Deno.dlopen(Deno.env.get("IBVERBS_LIBRARY")!, symbols);
}

let loop: Loop | undefined;

/** Exported functions of the provider that do nothing: the least that any call takes. A process has one of them. */
export function exported(context: Context, plan: Plan, parameters: number): number {
  const run = loop ??= LOOPS[parameters]!();
  const pointer = context.unsafeHandle as Deno.PointerObject;
  return timeOfSteps(plan, CALLS, () => run(pointer));
}

const empty = new Map<number, CompletionQueue>();

/** An empty queue of so many queue pairs. */
function emptyQueue(context: Context, pairs: number): CompletionQueue {
  const known = empty.get(pairs);
  if (known !== undefined) return known;
  const cq = new CompletionQueue(context, { cqe: 1, channel: null, compVector: EMPTY });
  const { pd } = datagrams(context);
  for (let i = 0; i < pairs; i++) activeQueuePair(pd, cq);
  empty.set(pairs, cq);
  return cq;
}

export function pollEmpty(context: Context, plan: Plan, pairs: number): number {
  return pollNothing(emptyQueue(context, pairs), new WorkCompletions(1), plan);
}

const { WITH_BYTE_LEN, WITH_QP_NUM, WITH_SRC_QP } = CreateCqWcFlags;
/** What the extended queues of all contenders report. */
const EXTENDED = { channel: null, wcFlags: WITH_BYTE_LEN | WITH_QP_NUM | WITH_SRC_QP };

/** The same with an extended queue. */
export function pollEmptyEx(context: Context, plan: Plan): number {
  const cq = new CompletionQueueEx(context, { ...EXTENDED, cqe: 1, compVector: EMPTY });
  return pollNothing(cq, new WorkCompletions(1), plan);
}

function pollNothing(cq: CompletionQueue, batch: WorkCompletions, plan: Plan): number {
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) for (let i = 0; i < plan.count; i++) sum += cq.pollInto(batch);
  consume(sum);
  return clock.middle;
}

/** Without thunks: by Deno's own call of a function pointer. */
export function pollEmptyWithoutThunks(context: Context, plan: Plan): number {
  const cq = emptyQueue(context, 0).unsafeHandle;
  const pointer = Deno.UnsafePointer.of(new Uint8Array(64));
  const poll = slowCalls(libibverbs).bind("ibv_poll_cq", cqVerbs.ibv_poll_cq as NativeRow);
  const clock = new Clock(plan);
  let sum = 0;
  while (clock.part()) for (let i = 0; i < plan.count; i++) sum += poll(cq, 1, pointer) as number;
  consume(sum);
  return clock.middle;
}

/** 32 completions at a time without objects; for one. */
export function pollList(context: Context, plan: Plan): number {
  return readAll(datagrams(context).cq, plan);
}

let extended: CompletionQueueEx | undefined;

/** The same with an extended queue. */
export function pollListEx(context: Context, plan: Plan): number {
  extended ??= new CompletionQueueEx(context, { ...EXTENDED, cqe: LIST });
  return readAll(extended, plan);
}

const shared = new Map<number, CompletionQueue>();

/** The same with a queue that so many queue pairs complete to. */
export function queuePairs(context: Context, plan: Plan, pairs: number): number {
  const cq = shared.get(pairs) ?? new CompletionQueue(context, { cqe: LIST, channel: null });
  if (!shared.has(pairs)) {
    shared.set(pairs, cq);
    for (let i = 0; i < pairs; i++) activeQueuePair(datagrams(context).pd, cq);
  }
  return readAll(cq, plan);
}

function readAll(cq: CompletionQueue, plan: Plan): number {
  const batch = new WorkCompletions(LIST);
  return timeOfSteps(plan, LIST, () => {
    const n = cq.pollInto(batch);
    if (n < LIST) throw new Error("Cannot measure: the queue is empty");
    let sum = 0;
    for (let i = 0; i < n; i++) {
      if (batch.status(i) !== 0) throw batch.at(i).check();
      sum = (sum + batch.wrIdLow(i) + batch.qpNum(i)) | 0;
    }
    return sum;
  });
}
