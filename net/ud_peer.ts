import { type AddressHandle, Grh, type ReplyPath, type WcAddress } from "../mod.ts";
import type { UdAddress } from "./ud_address.ts";

/** The sender of a datagram: an address whose handle comes from the packet itself. */
export class UdPeer implements UdAddress {
  /** The transport. */
  readonly transport = "ud";
  /** The queue pair of the peer. */
  readonly qpn: number;
  /** The qkey that the peer is expected to accept: the own one. */
  readonly qkey: number;
  readonly #wc: WcAddress;
  readonly #grh: Grh;
  #ah: AddressHandle | undefined;

  /** Remembers the completion and the GRH of a packet. */
  constructor(wc: WcAddress & { readonly srcQp: number }, grh: Grh, qkey: number) {
    this.qpn = wc.srcQp;
    this.qkey = qkey;
    this.#wc = wc;
    this.#grh = grh;
  }

  /** The GID of the peer as text. */
  get gid(): string {
    return this.#grh.sgid.toString();
  }

  /** The LID of the peer. */
  get lid(): number {
    return this.#wc.slid;
  }

  /** The handle, if it was made already and is still open. */
  knownHandle(): AddressHandle | undefined {
    return this.#ah?.disposed === false ? this.#ah : undefined;
  }

  /** The handle that reaches the peer. */
  async handle(path: ReplyPath, signal: AbortSignal | undefined): Promise<AddressHandle> {
    const options = signal === undefined ? {} : { signal };
    return this.#ah = await path.toAsync(this.#wc, this.#grh, options);
  }

  /** Plain data, as {@linkcode UdAddress} describes it. */
  toJSON(): UdAddress {
    const { transport, gid, lid, qpn, qkey } = this;
    return { transport, gid, lid, qpn, qkey };
  }
}
