// The recorder, as the misuses use it. Import this before anything that calls a verb.

import { settled } from "../../../wait/descriptors.ts";
import { nextTurn } from "../../../wait/turns.ts";
import { type CompletionQueue, type Context, QpState, type QueuePair } from "../../../mod.ts";
import { handleAddress } from "../../../ffi/mod.ts";
import * as recorder from "../../provider/recorder.ts";

/** The name of the device. */
export const DEVICE = "recorder0";

/** Brings a queue pair of type RC from INIT to RTS. */
export function activate(qp: QueuePair): void {
  for (const qpState of [QpState.RTR, QpState.RTS]) qp.modify({ qpState });
}

/** Makes one completion for a queue. */
export function complete(cq: CompletionQueue, completion: recorder.PushedCompletion = {}): void {
  recorder.complete(labelOf("cq", cq), { wr_id: 1n, opcode: 128, ...completion });
}

/** Sends an event of the first port. */
export function sendPortEvent(context: Context, type: number): void {
  recorder.sendAsyncEvent(type, 1, labelOf("context", context));
}

/** Makes a context one of a provider from before `query_port`. */
export function takeQueryPort(context: Context): void {
  recorder.overwrite(labelOf("context", context), "query_port", 0n);
}

/** Workers share the recorder, so the first object of a kind here can have any number. */
function labelOf<K extends "cq" | "context">(
  kind: K,
  { unsafeHandle }: CompletionQueue | Context,
): `${K}${number}` {
  for (let i = 0;; i++) {
    const label = `${kind}${i}` as const;
    if (handleAddress(recorder.pointerTo(label) as never) === handleAddress(unsafeHandle)) {
      return label;
    }
  }
}

/** The verbs that were called since the last question. */
export function takeVerbs(): string[] {
  return [...new Set(recorder.take().map(({ verb }) => verb))];
}

/** Waits until no verb was called for a while. */
export async function silence(time: number): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve, time));
  } while (recorder.take().length > 0);
}

/** Calls on other threads and the watcher use objects for a while after these are disposed. */
export async function idle(left: () => number = recorder.live): Promise<void> {
  for (let turns = 0; left() > 0 && turns < 500; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  // A loop that has just ended may have asked for a turn, which may be a timer.
  await nextTurn();
  await settled();
}
