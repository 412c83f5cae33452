/** What the workloads of a run share: objects, counts, and the pace. */

import type { AddressHandle, AhAttrInit, Context, ProtectionDomain } from "../../../mod.ts";
import type { GidEntry, Grh, WorkCompletion } from "../../../mod.ts";
import type { Ledger } from "./ledger.ts";

/** The objects and counts that workloads share. */
export interface Run {
  /** Aborts when the run is over. */
  readonly stop: AbortSignal;
  readonly ledger: Ledger;
  /** Adds to a count. */
  readonly count: (name: string, by?: number) => void;
  /** Notes a call that ended otherwise than it may. */
  readonly fail: (what: string) => void;
  readonly context: Context;
  /** The domain of the datagrams and their address handles. */
  readonly pd: ProtectionDomain;
  /** GIDs of addresses that stay. The next slot is that of an address that comes and goes. */
  readonly gids: readonly GidEntry[];
  /** The first datagram from each of these GIDs: address handles can be made from it. */
  readonly arrivals: [wc: WorkCompletion, grh: Grh][];
  /** Address handles that are to be used for a datagram and then disposed. */
  readonly fresh: AddressHandle[];
}

export const PORT = 1;
export const QKEY = 0x1111_1111;
/** A message that has not come for so long does not come any more. */
export const PATIENCE_MS = 120_000;

/** The address of one of the GIDs that stay. */
export function attrOf({ gids }: Run, index: number): AhAttrInit {
  const { gid: dgid, gidIndex: sgidIndex } = gids[index % gids.length]!;
  return { portNum: PORT, grh: { dgid, sgidIndex, hopLimit: 64 } };
}

/** One of the datagrams that have come. */
export function arrival({ arrivals }: Run, index: number): [WorkCompletion, Grh] {
  return arrivals[index % arrivals.length]!;
}

/** Waits; comes back early if the signal aborts. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      resolve();
    };
    const timer = setTimeout(over, milliseconds);
    if (signal?.aborted) over();
    else signal?.addEventListener("abort", over);
  });
}

/** Whether a promise is fulfilled before patience is at its end. */
export async function inTime(promise: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const late = pause(PATIENCE_MS, over.signal).then(() => false);
  return await Promise.race([promise.then(() => true), late]).finally(() => over.abort());
}

/** How long a workload that is late goes on before others have their turn. */
const SLICE_MS = 50;

/**
 * Calls a step at that rate until the signal aborts. Steps that come too late are made up for.
 *
 * @param rate Operations in a second.
 * @param burst Operations of a step.
 * @param slice Milliseconds that it goes on for while it is late, before others have their turn.
 */
export async function paced(
  rate: number,
  burst: number,
  stop: AbortSignal,
  step: () => Promise<void> | void,
  slice: number = SLICE_MS,
): Promise<void> {
  const start = performance.now();
  let done = 0;
  const due = (): number => start + (done + burst) / rate * 1000;
  while (!stop.aborted) {
    // Even a late step lets timers and other workloads run first.
    await pause(Math.max(0, due() - performance.now()), stop);
    const end = performance.now() + slice;
    do {
      if (stop.aborted) return;
      await step();
      done += burst;
    } while (due() <= performance.now() && performance.now() < end);
  }
}

/** What is done round by round, until it is closed. A round is whole if all of it came to its end as it should. */
export interface Rounds extends Disposable {
  round(): Promise<boolean>;
}

/** Does rounds of `burst` operations until the run is over, with parts made anew after a lifetime or a round that is not whole. */
export async function inRounds(
  { stop }: Run,
  rate: number,
  burst: number,
  lifetime: number,
  start: () => Rounds,
): Promise<void> {
  let parts = start();
  let rounds = 0;
  await paced(rate, burst, stop, async () => {
    if (await parts.round() && ++rounds % lifetime !== 0) return;
    parts[Symbol.dispose]();
    parts = start();
  });
  parts[Symbol.dispose]();
}
