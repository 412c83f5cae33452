import { CmId, EventChannel, PortSpace } from "../../cm.ts";
import { partOf } from "../../internal/left_open.ts";
import type { Gid } from "../../mod.ts";
import { ownAddress } from "./own_address.ts";
import type { LocalPort } from "./ud_address.ts";

/** The multicast groups that a connection is in by their IP addresses: the host and the switches know of them. */
export class Groups implements Disposable {
  readonly #ids: Map<string, CmId> = new Map();
  #channel: EventChannel | undefined;

  /**
   * Joins a group.
   *
   * @param own The port to join with.
   * @param attach Has the queue pair receive.
   * @returns The GID of the group.
   */
  async join(
    address: string,
    own: LocalPort,
    attach: (group: Gid) => void,
    signal: AbortSignal,
  ): Promise<Gid> {
    const from = ownAddress(own, "join group");
    this.#channel ??= partOf(new EventChannel());
    using stack = new DisposableStack();
    const id = stack.use(new CmId(this.#channel, PortSpace.UDP));
    id.bindAddr(from);
    const { ahAttr } = await id.joinMulticast(address, { signal });
    // The answer may have been there already when the signal aborted.
    signal.throwIfAborted();
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
