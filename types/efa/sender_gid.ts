import { structs } from "../../ffi/layout.ts";
import type { BatchCore } from "../completion/work_completion_list.ts";
import { EXTENDED } from "../completion/work_completion_list_ex.ts";

/**
 * The `slid` of a sender to whom the receiver has no address handle.
 *
 * @category Senders
 */
export const EFA_UNKNOWN_SENDER = 0xffff;

/** The extra bytes of a completion that has the sender's GID, behind what all extended queues report. */
export const EXTRA_WITH_GID: number = EXTENDED.extra + structs.ibv_gid.size;

/** Where the GID of a completion is in its batch; undefined if the batch has no room for GIDs. */
export function gidOffset(batch: BatchCore<unknown>, index: number): number | undefined {
  const hasRoom = batch.format.extra >= EXTRA_WITH_GID;
  return hasRoom ? batch.extraAt(index) + EXTENDED.extra : undefined;
}
