// What the matrix runs on. The misuses are the same on a recorder and on a device.

import type { AhAttrInit, CompletionQueue, Context, QueuePair } from "../../../../mod.ts";

/** A provider of verbs, with what only its tests know. */
export interface Bed {
  /** The name of the device. */
  readonly device: string;
  /** Whether data that is sent arrives. */
  readonly moves: boolean;
  /** Attributes of an address handle that the device accepts. */
  ahAttr(context: Context): AhAttrInit;
  /** Brings a queue pair of type RC from INIT to RTS. */
  activate(qp: QueuePair): void;
  /** Makes one completion for a queue. */
  complete(cq: CompletionQueue): void;
  /** Forgets what earlier cases did. */
  reset(): void;
  /** How many native objects are there that were not there at the last reset. */
  live(): number;
  /** What no program may do and this one did since the last reset, one sentence each. */
  violations(): string[];
  /** The verbs that were called since the last question; none if the bed does not know. */
  verbs(): string[];
  /** Lets a verb fail once. */
  fail?(verb: string, errno: number, result?: bigint): void;
  /** Lets each call of a verb take so many milliseconds. */
  delay?(verb: string, ms: number): void;
}

let bed: Bed | undefined;

/** Chooses the bed of this process. */
export function useBed(chosen: Bed): void {
  bed = chosen;
}

/** The bed of this process. */
export function currentBed(): Bed {
  if (bed === undefined) throw new Error("Cannot misuse anything: no bed was chosen");
  return bed;
}

/** Waits until no verb was called for a while. */
export async function silence(time: number): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve, time));
  } while (currentBed().verbs().length > 0);
}

/** Calls on other threads and the watcher use objects for a while after these are disposed. */
export async function idle(): Promise<void> {
  for (let turns = 0; currentBed().live() > 0 && turns < 500; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
