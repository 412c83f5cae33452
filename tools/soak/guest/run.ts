/** What the activities of a run share. */

import type { AddressHandle, Context, ProtectionDomain } from "../../../mod.ts";
import type { Grh, WorkCompletion } from "../../../mod.ts";
import type { GidEntry } from "../../../mod.ts";
import type { Rates } from "../plan.ts";
import type { Ledger } from "./ledger.ts";

/** A datagram that has come: an address handle can be made from it. */
export interface Arrival {
  readonly wc: WorkCompletion;
  readonly grh: Grh;
}

/** The objects and counts that activities share. */
export interface Run {
  readonly rates: Rates;
  /** Aborts when the run is over. */
  readonly stop: AbortSignal;
  readonly ledger: Ledger;
  /** Adds to a count. */
  readonly count: (name: string, by?: number) => void;
  /** Notes a call that ended otherwise than it may. */
  readonly fail: (what: string) => void;
  /** The soft-RoCE device. */
  readonly context: Context;
  /** The domain of the datagrams and their address handles. */
  readonly pd: ProtectionDomain;
  /** GIDs of addresses that stay. */
  readonly gids: readonly GidEntry[];
  /** The last datagram from each of these GIDs. */
  readonly arrivals: Arrival[];
  /** Address handles that are to be used for a datagram and then disposed. */
  readonly fresh: AddressHandle[];
}

/** The port of the soft-RoCE device. */
export const PORT = 1;
/** The qkey of all datagram queue pairs. */
export const QKEY = 0x1111_1111;
/** A message that has not come for so long does not come any more. */
export const PATIENCE_MS = 20_000;
