import { changesAddresses } from "../../internal/ports.ts";
import {
  type AddressHandle,
  type GidEntry,
  type MemoryRegion,
  type ProtectionDomain,
  ReplyPath,
  VerbsError,
} from "../../mod.ts";
import { chosenGid, slotOf } from "../shared/chosen_gid.ts";
import { onFabric } from "../shared/fabric_options.ts";
import {
  handleOf,
  type Packet,
  packetOf,
  type Peer,
  setHandle,
  type WriteSender,
} from "./peers.ts";
import { attrOf, type LocalPort, localPort } from "./ud_address.ts";
import type { UdSettings } from "./ud_options.ts";

/** The address handles of peers. They are made again after each change of the local addresses. */
export class Routes {
  local: LocalPort;
  readonly #pd: ProtectionDomain;
  readonly #settings: UdSettings;
  #path: ReplyPath;
  /** The GID that the caller chose, at its last index. */
  #chosen: GidEntry | undefined;
  /** Resolves when no event is waited for any more. */
  readonly ended: Promise<void>;
  /** It is called before handles are closed: sends that use them must be posted. */
  readonly #onClosing: () => void;
  #making = 0;

  /** Watches the events of the device until it is closed. */
  constructor(
    pd: ProtectionDomain,
    settings: UdSettings,
    closed: AbortSignal,
    onClosing: () => void,
  ) {
    const { portNum: port, gidIndex } = settings;
    this.#onClosing = onClosing;
    this.#pd = pd;
    this.#settings = settings;
    this.#chosen = gidIndex === undefined ? undefined : chosenGid(pd.context, port, gidIndex);
    this.local = localPort(pd.context, port, this.#chosen);
    this.#path = this.#makePath();
    this.ended = this.#watch(closed);
  }

  get #namesHandles(): boolean {
    return this.local.provider?.namesHandles === true;
  }

  #makePath(): ReplyPath {
    const { portNum: port, maxPeers, recvDepth } = this.#settings;
    // A datagram that was not polled yet may have the number of a handle that is not used any more.
    const most = this.#namesHandles ? Math.max(maxPeers, recvDepth) : maxPeers;
    return new ReplyPath(this.#pd, { portNum: port, maxPeers: most });
  }

  /** Finds the senders of datagrams in a memory region, if completions name their handles. */
  senders(mr: MemoryRegion): WriteSender | undefined {
    if (!this.#namesHandles) return undefined;
    return (attr, batch, index) => {
      try {
        this.#path.writeAttr(attr, batch, index, mr, 0);
        return true;
      } catch (error) {
        if (error instanceof VerbsError) return false;
        throw error;
      }
    };
  }

  /** Whether no handle is closed before the next microtask. A handle that is made may take the place of another one. */
  get isIdle(): boolean {
    return this.#making === 0;
  }

  /** Whether a peer has a handle, or `Routes.makeNow` makes one. */
  canReach(peer: Peer): boolean {
    return this.#namesHandles || handleOf(peer)?.disposed === false;
  }

  /**
   * Makes the handle that reaches a peer if that takes no time, because no link address is looked for. Post with it before
   * another one is made, which may take its place.
   */
  makeNow(peer: Peer): AddressHandle | undefined {
    if (!this.#namesHandles) return undefined;
    this.#onClosing();
    return setHandle(peer, this.#path.toAddress(attrOf(this.local, peer, this.#settings)));
  }

  /** Finds or makes the handle that reaches a peer, which may take seconds. It may be closed before it is used. */
  async make(peer: Peer, signal: AbortSignal | undefined): Promise<void> {
    this.#onClosing();
    this.#making++;
    try {
      setHandle(peer, await this.#make(peer, signal));
    } finally {
      this.#making--;
    }
  }

  async #make(peer: Peer, signal: AbortSignal | undefined): Promise<AddressHandle> {
    const path = this.#path;
    const packet = packetOf(peer);
    try {
      if (!isOfSender(packet)) {
        const attr = attrOf(this.local, peer, this.#settings);
        return await path.toAddressAsync(attr, { signal });
      }
      const { wc, grh } = packet;
      const { trafficClass, sl } = this.#settings;
      // A peer that had a handle has answered before: it does not wait with strangers.
      const untrusted = handleOf(peer) === undefined;
      if (untrusted && trafficClass === undefined && sl === undefined) {
        return await path.toAsync(wc, { grh, signal });
      }
      const attr = onFabric(path.attr(wc, grh), this.#settings);
      return await path.toAddressAsync(attr, { signal, untrusted });
    } catch (error) {
      // Addresses have changed in the meantime, and there is another path.
      if (path === this.#path) throw error;
      return await this.#make(peer, signal);
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    try {
      for await (const event of this.#pd.context.events({ signal })) {
        if (changesAddresses(event, this.#settings.portNum)) this.refresh();
      }
    } catch {
      // The socket is closed, or the device is gone: sending and receiving fail then.
    }
  }

  /**
   * An address may have changed: the own one is read again, and all handles are made again. The old ones are closed now,
   * because the kernel keeps an address that was removed in its table as long as a handle uses it. Handles whose numbers name
   * the senders of datagrams stay: the addresses of such devices do not change.
   */
  refresh(): void {
    if (this.#namesHandles) return;
    this.#onClosing();
    this.#path.close();
    this.#path = this.#makePath();
    try {
      const { context } = this.#pd;
      const { portNum: port } = this.#settings;
      const chosen = this.#chosen;
      if (chosen !== undefined) {
        this.#chosen = slotOf(context.queryGidTable(port), chosen) ?? chosen;
      }
      this.local = localPort(context, port, this.#chosen);
    } catch {
      // The port has no usable GID now. There is another event when it gets one.
    }
  }
}

/** Whether there is a packet whose sender can be answered. A packet to a group does not have the address of an answer. */
function isOfSender(packet: Packet | undefined): packet is Packet {
  return packet !== undefined && !packet.grh.dgid.isMulticast;
}
