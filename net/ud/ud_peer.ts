import { type AddressHandle, type Grh, WcFlags, type WorkCompletion } from "../../mod.ts";
import type { UdAddress } from "./ud_address.ts";

/** The sender of datagrams: an address whose handle comes from a packet. One connection made it. */
export class UdPeer implements UdAddress {
  /** The transport. */
  readonly transport = "ud";
  /** The GID of the peer as text. */
  readonly gid: string;
  /** The LID of the peer. */
  readonly lid: number;
  /** The queue pair of the peer. */
  readonly qpn: number;
  /** The qkey that the peer is expected to accept: the own one. */
  readonly qkey: number;
  readonly #wc: WorkCompletion;
  readonly #grh: Grh;
  readonly #owner: object;
  #ah: AddressHandle | undefined;
  #version = 0;

  /** Remembers the completion and the GRH of a packet. */
  constructor(owner: object, wc: WorkCompletion, grh: Grh, qkey: number) {
    this.#owner = owner;
    this.#wc = wc;
    this.#grh = grh;
    const hasGrh = (wc.wcFlags & WcFlags.GRH) !== 0;
    this.gid = hasGrh ? grh.sgid.toString() : "::";
    this.lid = wc.slid;
    this.qpn = wc.srcQp;
    this.qkey = qkey;
  }

  /** The completion of the packet. */
  static wc(peer: UdPeer): WorkCompletion {
    return peer.#wc;
  }

  /** The GRH of the packet. */
  static grh(peer: UdPeer): Grh {
    return peer.#grh;
  }

  /** Whether a value is a peer that this owner made. */
  static isOf(owner: object, value: object): value is UdPeer {
    return #owner in value && value.#owner === owner;
  }

  /** The handle, if it is still open and was made in this version of the local addresses. */
  static handle(peer: UdPeer, version: number): AddressHandle | undefined {
    const ah = peer.#ah;
    return ah !== undefined && peer.#version === version && !ah.disposed ? ah : undefined;
  }

  /** Remembers the handle. */
  static setHandle(peer: UdPeer, ah: AddressHandle, version: number): void {
    peer.#ah = ah;
    peer.#version = version;
  }
}
