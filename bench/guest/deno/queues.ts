/** What the rows of the guest share: sizes, and the patience with datagrams that do not come. */

import type { CompletionQueue, Context, GidEntry, WorkCompletions } from "../../../mod.ts";
import { PORT } from "../../deno/datagrams.ts";

const MTU = 4096;
export const GRH = 40;
/** Room for a message and its GRH. */
export const SLOT: number = GRH + MTU;

/** GIDs of the port whose addresses are made for the measurements: so many. */
export function ownGids(context: Context, count: number): GidEntry[] {
  const gids = context.gidTable(PORT).filter(({ gid }) => gid.bytes[0] === 0xfd).slice(0, count);
  if (gids.length < count) throw new Error("Cannot measure: there is no GID for each peer");
  return gids;
}

/** Datagrams of this round that did not come. */
export const losses: { count: number } = { count: 0 };

/** A datagram that has not come after 0.1 s is lost. The clock is read once in 1024 empty polls. */
export class Patience {
  #polls = 0;
  #since = 0;

  start(): void {
    this.#polls = this.#since = 0;
  }

  /** Whether to give up, after an empty poll. */
  isLate(): boolean {
    if ((++this.#polls & 1023) !== 0) return false;
    const now = performance.now();
    if (this.#since === 0) this.#since = now;
    return now - this.#since > 100;
  }
}

const patience = new Patience();

/** Polls until so many completions are there or one is lost. Returns how many came. */
export function drain(cq: CompletionQueue, batch: WorkCompletions, wanted: number): number {
  let done = 0;
  patience.start();
  while (done < wanted) {
    const n = cq.pollInto(batch);
    for (let i = 0; i < n; i++) if (batch.status(i) !== 0) throw batch.at(i).check();
    done += n;
    if (n === 0 && patience.isLate()) break;
  }
  losses.count += wanted - done;
  return done;
}
