/**
 * The senders of messages to an Elastic Fabric Adapter. It has no GRH: a completion has the number of an address handle
 * that its device has, or else a GID.
 */

import { EXTENDED } from "../completion/work_completion_list_ex.ts";
import { constants, structs } from "../../ffi/layout.ts";
import { bytesOfGid, type Gid } from "../address/gid.ts";
import { AddressHandle, AhCore, ahCore } from "../address_handle/address_handle.ts";
import { type WcAddress, WcFlags } from "../completion/work_completion.ts";
import type { BatchCore } from "../completion/cq_core.ts";
import { failure, type VerbsError } from "../core/errors.ts";
import { lifetimeOf } from "../core/resource.ts";
import { pdCore, type ProtectionDomain } from "../memory/protection_domain.ts";
import { ReplyAddress } from "../reply/reply_address.ts";
import type { Senders, Words } from "../reply/senders.ts";
import { efaAhNumber } from "./attributes.ts";

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

const { size: WC_SIZE, fields: wcFields } = structs.ibv_wc;
const SLID = wcFields.slid.offset;
const WC_FLAGS = wcFields.wc_flags.offset;

/** A handle that a path has made. */
interface Made {
  readonly ah: AhCore;
  readonly words: Words;
}

/** Finds the addresses of senders by the numbers of address handles, and by GIDs. */
export class EfaSenders implements Senders {
  readonly #pd: ProtectionDomain;
  readonly #address: ReplyAddress;
  /** By its number. A number belongs to one GID as long as a handle has it. */
  readonly #made: Map<number, Made> = new Map();
  /** Handles of the program's own, which it may close at any time. */
  readonly #lent: Map<number, AhCore> = new Map();

  constructor(pd: ProtectionDomain, portNum: number) {
    this.#pd = pd;
    this.#address = new ReplyAddress(portNum);
  }

  made(words: Uint32Array, ah: AhCore): void {
    this.#made.set(efaAhNumber(ah.handle), { ah, words: words.slice() as Words });
  }

  of({ wcFlags, slid }: WcAddress, sgid: Gid | undefined): Words | AhCore {
    if (slid !== EFA_UNKNOWN_SENDER || sgid === undefined) return this.#find(wcFlags, slid);
    const { buffer, byteOffset } = bytesOfGid(sgid, "sgid");
    return this.#find(wcFlags, slid, new DataView(buffer), byteOffset);
  }

  at(batch: BatchCore, index: number): Words | AhCore {
    const { view } = batch;
    const at = index * WC_SIZE;
    const slid = view.getUint16(at + SLID, true);
    return this.#find(view.getUint32(at + WC_FLAGS, true), slid, view, gidOffset(batch, index));
  }

  addressOf(wc: WcAddress, sgid: Gid | undefined): Words {
    return wordsOf(this.of(wc, sgid));
  }

  addressAt(batch: BatchCore, index: number): Words {
    return wordsOf(this.at(batch, index));
  }

  #find(wcFlags: number, slid: number, view?: DataView, gid?: number): Words | AhCore {
    if (wcFlags & WcFlags.GRH) throw refusal(constants.EOPNOTSUPP, NO_GRH);
    if (slid === EFA_UNKNOWN_SENDER) {
      if (gid !== undefined && this.#address.computeFromGid(view!, gid)) return this.#address.words;
      throw refusal(constants.ENODATA, NO_GID);
    }
    const made = this.#made.get(slid);
    if (made?.ah.isOpen) return made.words;
    const lent = this.#lend(slid);
    if (lent !== undefined) return lent;
    throw refusal(
      constants.ENOENT,
      `No address handle of the protection domain has the number ${slid} now`,
    );
  }

  #lend(number: number): AhCore | undefined {
    const known = this.#lent.get(number);
    if (known?.isOpen) return known;
    this.#lent.clear();
    for (const pd of new Set([this.#pd, pdCore(this.#pd).base])) {
      for (const child of lifetimeOf(pd).children) {
        if (!(child instanceof AddressHandle) || child.disposed) continue;
        this.#lent.set(efaAhNumber(child), ahCore(child)!);
      }
    }
    return this.#lent.get(number);
  }
}

function wordsOf(found: Words | AhCore): Words {
  if (!(found instanceof AhCore)) return found;
  throw refusal(
    constants.ENOENT,
    "The program made the address handle of this number: its address is not known",
  );
}

const NO_GRH =
  "An Elastic Fabric Adapter has no GRH: the completion's slid or sgid identifies the sender";

const NO_GID =
  "The sender is unknown (slid 0xffff), and its GID was not read: receive by an EfaCompletionQueue, and poll into " +
  "EfaWorkCompletionList";

function refusal(errno: number, hint: string): VerbsError {
  return failure("efadv_wc_read_sgid", "derive address from completion", errno, {
    hint: () => hint,
  });
}
