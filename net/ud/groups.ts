import { CmId, EventChannel, PortSpace, type SocketAddress } from "../../cm.ts";
import { partOf } from "../../internal/left_open.ts";
import { needsInterface } from "../../internal/reach.ts";
import type { Gid } from "../../mod.ts";
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
    const from = addressOf(own);
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

/** The IP address of a port. */
function addressOf({ gid, ndevIfindex, provider }: LocalPort): SocketAddress {
  if (provider?.noGroups !== undefined) {
    throw new Deno.errors.NotSupported(`Cannot join group: ${provider.noGroups}`);
  }
  if (gid.reach === "host") throw unfit(gid, "reaches this host only");
  if (!needsInterface(gid.bytes)) return { hostname: ipOf(gid), port: 0 };
  if (ndevIfindex !== 0) return { hostname: ipOf(gid), port: 0, scopeId: ndevIfindex };
  throw unfit(gid, "is no IP address of a network interface");
}

function unfit(gid: Gid, why: string): Error {
  return new Deno.errors.NotSupported(
    `Cannot join group: ${gid} ${why}; choose another gidIndex`,
  );
}

function ipOf(gid: Gid): string {
  return gid.isIpv4Mapped ? gid.bytes.subarray(12).join(".") : gid.toString();
}
