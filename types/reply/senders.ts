import { ProviderTable } from "../../internal/provider_table.ts";
import type { Gid } from "../address/gid.ts";
import type { AhCore } from "../address_handle/address_handle.ts";
import type { WcAddress } from "../completion/work_completion.ts";
import type { BatchCore } from "../completion/cq_core.ts";
import type { ProtectionDomain } from "../memory/protection_domain.ts";

/** The words of a `struct ibv_ah_attr`. */
export type Words = Uint32Array<ArrayBuffer>;

/**
 * Who has sent a message, where completions name senders by the numbers of their address handles. Such a device does
 * not resolve link addresses: a handle is made at once, and is kept while completions may have its number.
 */
export interface Senders {
  /** Notes a handle that a path has made. */
  made(words: Uint32Array, ah: AhCore): void;
  /**
   * The address of a sender, or a handle of the program's own that reaches it.
   *
   * @throws {VerbsError} If the completion does not name the sender.
   */
  of(wc: WcAddress, sgid: Gid | undefined): Words | AhCore;
  /** `Senders.of` for a completion in native layout. */
  at(batch: BatchCore, index: number): Words | AhCore;
  /** The address of a sender. It throws as `Senders.of`, also for a handle of the program's own. */
  addressOf(wc: WcAddress, sgid: Gid | undefined): Words;
  /** `Senders.addressOf` for a completion in native layout. */
  addressAt(batch: BatchCore, index: number): Words;
}

/** Makes the object that knows the senders of messages to a port, for handles of a protection domain. */
export type MakeSenders = (pd: ProtectionDomain, portNum: number) => Senders;

/** For providers whose packets have no GRH. */
export const senderMakers: ProviderTable<MakeSenders> = new ProviderTable();
