import { CmId, EventChannel, PortSpace } from "../../cm.ts";
import type { Gid } from "../../mod.ts";

/** The multicast groups that a connection is in by their IP addresses: the host and the switches know of them. */
export class Groups implements Disposable {
  readonly #ids: Map<string, CmId> = new Map();
  #channel: EventChannel | undefined;

  /**
   * Joins a group.
   *
   * @param own The GID to join with, which is an IP address.
   * @param attach Has the queue pair receive.
   * @returns The GID of the group.
   */
  async join(
    address: string,
    own: Gid,
    attach: (group: Gid) => void,
    signal: AbortSignal,
  ): Promise<Gid> {
    this.#channel ??= new EventChannel();
    using stack = new DisposableStack();
    const id = stack.use(new CmId(this.#channel, PortSpace.UDP));
    id.bindAddr({ hostname: ipOf(own), port: 0 });
    const { ahAttr } = await id.joinMulticast({ hostname: address, port: 0 }, { signal });
    // Another call for the same group may have been faster.
    if (this.#ids.has(address)) {
      throw new TypeError(`Cannot join group ${address}: the connection is in it already`);
    }
    const group = ahAttr.grh.dgid;
    attach(group);
    this.#ids.set(address, id);
    stack.move();
    return group;
  }

  /** Leaves a group, after the queue pair has left it. */
  leave(address: string, detach: () => void): void {
    const id = this.#ids.get(address);
    if (id === undefined) {
      throw new TypeError(`Cannot leave group ${address}: the connection has not joined it`);
    }
    detach();
    id.close();
    this.#ids.delete(address);
  }

  [Symbol.dispose](): void {
    this.#channel?.close();
  }
}

function ipOf(gid: Gid): string {
  return gid.isIpv4Mapped ? gid.bytes.subarray(12).join(".") : gid.toString();
}
