import {
  type AddressHandle,
  EventType,
  type Gid,
  type GidEntry,
  type ProtectionDomain,
  ReplyPath,
} from "../../mod.ts";
import { chosenGid, slotOf } from "../shared/chosen_gid.ts";
import { HandleCache } from "./handle_cache.ts";
import {
  attrOf,
  type CheckedAddress,
  type LocalPort,
  localPort,
  readUdAddress,
  type UdAddress,
} from "./ud_address.ts";
import type { UdSettings } from "./ud_options.ts";
import { UdPeer } from "./ud_peer.ts";

/** Events after which addresses may have another meaning. */
const ADDRESS_EVENTS: ReadonlySet<EventType> = new Set([
  EventType.GID_CHANGE,
  EventType.PORT_ACTIVE,
  EventType.PORT_ERR,
  EventType.LID_CHANGE,
  EventType.SM_CHANGE,
  EventType.CLIENT_REREGISTER,
  EventType.DEVICE_FATAL,
]);

/** The address handles of peers. They are made again after each change of the local addresses. */
export class Routes {
  /** The local port. */
  local: LocalPort;
  readonly #pd: ProtectionDomain;
  readonly #owner: object;
  readonly #settings: UdSettings;
  #path: ReplyPath;
  /** The GID that the caller chose, where it was last. */
  #chosen: GidEntry | undefined;
  readonly #handles: HandleCache;
  readonly #watched: Promise<void>;
  /** It is called before handles are closed: sends that use them must be posted. */
  readonly #onClosing: () => void;
  /** How often addresses have changed. Older handles of peers are not used any more. */
  #version = 0;
  /** How many replies wait for their handle. */
  #making = 0;
  /** The address that was checked last. */
  #recent: CheckedAddress | undefined;

  /** Watches the events of the device until it is closed. The peers that the owner made are answered by their packets. */
  constructor(
    pd: ProtectionDomain,
    owner: object,
    settings: UdSettings,
    closed: AbortSignal,
    onClosing: () => void,
  ) {
    const { port, gidIndex } = settings;
    this.#onClosing = onClosing;
    this.#pd = pd;
    this.#owner = owner;
    this.#settings = settings;
    this.#chosen = gidIndex === undefined ? undefined : chosenGid(pd.context, port, gidIndex);
    this.local = localPort(pd.context, port, this.#chosen);
    this.#path = this.#makePath();
    this.#handles = new HandleCache(pd, settings.maxPeers);
    this.#watched = this.#watch(closed);
  }

  #makePath(): ReplyPath {
    const { port, maxPeers } = this.#settings;
    return new ReplyPath(this.#pd, { port, maxPeers });
  }

  /** Whether no handle is closed before the next microtask. */
  get isIdle(): boolean {
    return this.#making === 0 && this.#handles.isIdle;
  }

  /** Checks an address, unless it is a peer of the owner. */
  target(addr: UdAddress): Target {
    if (typeof addr === "object" && addr !== null && UdPeer.isOf(this.#owner, addr)) return addr;
    return this.#recent = readUdAddress(addr, this.#recent);
  }

  /** The handle that reaches a target, if there is one. */
  known(target: Target): AddressHandle | undefined {
    if (target instanceof UdPeer) return UdPeer.handle(target, this.#version);
    // Most addresses are used again and again.
    const { ah } = target;
    return ah?.disposed === false ? ah : target.ah = this.#handles.known(keyOf(target));
  }

  /** Makes the handle that reaches a target. */
  async make(target: Target, signal: AbortSignal | undefined): Promise<AddressHandle> {
    this.#onClosing();
    this.#making++;
    try {
      return await this.#make(target, signal);
    } finally {
      this.#making--;
    }
  }

  async #make(target: Target, signal: AbortSignal | undefined): Promise<AddressHandle> {
    if (!(target instanceof UdPeer)) return await this.#ofAddress(target, signal);
    const version = this.#version;
    // The reply path cannot answer multicast by the packet alone.
    const ah = isMulticast(UdPeer.grh(target).dgid)
      ? await this.#ofAddress(target, signal)
      : await this.#ofPacket(target, signal);
    UdPeer.setHandle(target, ah, version);
    return ah;
  }

  async #ofPacket(target: UdPeer, signal: AbortSignal | undefined): Promise<AddressHandle> {
    const path = this.#path;
    try {
      return await path.toAsync(UdPeer.wc(target), UdPeer.grh(target), { signal });
    } catch (error) {
      // Addresses have changed in the meantime, and there is another path.
      if (path === this.#path) throw error;
      return await this.#ofPacket(target, signal);
    }
  }

  async #ofAddress(target: UdAddress, signal: AbortSignal | undefined): Promise<AddressHandle> {
    const key = keyOf(target);
    const attr = (): ReturnType<typeof attrOf> => attrOf(this.local, target);
    return this.#handles.known(key) ?? await this.#handles.make(key, attr, signal);
  }

  /** Reads the events of the device as they come. */
  async #watch(signal: AbortSignal): Promise<void> {
    try {
      for await (const { type, portNum } of this.#pd.context.events({ signal })) {
        const isOfPort = portNum === undefined || portNum === this.#settings.port;
        if (isOfPort && ADDRESS_EVENTS.has(type)) this.refresh();
      }
    } catch {
      // The connection is closed, or the device is gone: sending and receiving fail then.
    }
  }

  /**
   * An address may have changed: the own one is read again, and all handles are made again. The old ones are closed now,
   * because the kernel keeps an address that was removed in its table as long as a handle uses it.
   */
  refresh(): void {
    this.#onClosing();
    this.#version++;
    this.#handles.clear();
    this.#path.close();
    this.#path = this.#makePath();
    try {
      const { context } = this.#pd;
      const { port } = this.#settings;
      const chosen = this.#chosen;
      if (chosen !== undefined) this.#chosen = slotOf(context.gidTable(port), chosen) ?? chosen;
      this.local = localPort(context, port, this.#chosen);
    } catch {
      // The port has no usable GID now. There is another event when it gets one.
    }
  }

  /** Waits until no handle is being made and no event is waited for. */
  async idle(): Promise<void> {
    await Promise.all([this.#watched, this.#handles.idle()]);
  }
}

/** Where a datagram goes: an address that was checked, or a peer of the connection. */
export type Target = CheckedAddress | UdPeer;

function keyOf({ gid, lid }: UdAddress): string {
  return `${gid} ${lid}`;
}

/** Whether a GID is one of multicast. An IPv4 group is an IPv4-mapped GID. */
export function isMulticast(gid: Gid): boolean {
  return gid.isMulticast || gid.isIpv4Mapped && gid.bytes[12]! >> 4 === 0xe;
}
