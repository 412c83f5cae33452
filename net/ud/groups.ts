import { CmId, EventChannel, PortSpace } from "../../cm.ts";
import { cutTo } from "../../internal/caller.ts";
import { partOf } from "../../internal/left_open.ts";
import { Gid, type QueuePair } from "../../mod.ts";
import { ownAddress } from "./own_address.ts";
import type { LocalPort } from "./ud_address.ts";

/** A group that the host and the switches know of. */
interface Joined {
  readonly id: CmId;
  /** Its GID: on InfiniBand another one than that of its IP address. */
  readonly group: Gid;
}

/** The multicast groups that the queue pair of a socket is in. */
export class Groups implements Disposable {
  readonly #qp: QueuePair;
  /** Those that the host and the switches know of too, by the GIDs of their IP addresses. */
  readonly #joined: Map<string, Joined> = new Map();
  /** Those that only the queue pair is in, with their LIDs. */
  readonly #attached: Map<string, number> = new Map();
  #channel: EventChannel | undefined;

  constructor(qp: QueuePair) {
    this.#qp = qp;
  }

  /**
   * Joins a group by its IP address.
   *
   * @param named The GID of the address.
   * @param own The port to join with.
   * @returns The GID of the group.
   */
  async join(address: string, named: Gid, own: LocalPort, signal: AbortSignal): Promise<Gid> {
    const from = ownAddress(own, "join group");
    this.#channel ??= partOf(new EventChannel());
    using stack = new DisposableStack();
    const id = stack.use(new CmId(this.#channel, PortSpace.UDP));
    id.bindAddr(from);
    const { ahAttr } = await id.joinMulticast(address, { signal });
    // The answer may have been there already when the signal aborted.
    signal.throwIfAborted();
    // Another call for the same group may have been faster.
    const name = named.toString();
    if (this.#isIn(name)) throw inItAlready(address);
    const group = ahAttr.grh.dgid;
    this.#qp.attachMcast(group, 0);
    this.#joined.set(name, { id, group });
    stack.move();
    return group;
  }

  /** Has only the queue pair join a group. */
  attach(group: Gid, lid: number): void {
    const name = group.toString();
    if (this.#isIn(name)) throw inItAlready(name);
    this.#qp.attachMcast(group, lid);
    this.#attached.set(name, lid);
  }

  /** Leaves a group: its IP address names it, or its GID. */
  leave(address: string, named: Gid): void {
    const name = named.toString();
    const lid = this.#attached.get(name);
    if (lid === undefined) return this.#leaveJoined(address, name);
    this.#qp.detachMcast(named, lid);
    this.#attached.delete(name);
  }

  #leaveJoined(address: string, name: string): void {
    const found = this.#joined.entries()
      .find(([key, { group }]) => key === name || group.toString() === name);
    if (found === undefined) {
      throw new TypeError(`Cannot leave group ${address}: the socket has not joined it`);
    }
    const [key, { id, group }] = found;
    this.#joined.delete(key);
    try {
      this.#qp.detachMcast(group, 0);
    } finally {
      id.close();
    }
  }

  #isIn(name: string): boolean {
    return this.#attached.has(name) || this.#joined.has(name);
  }

  [Symbol.dispose](): void {
    this.#channel?.close();
  }
}

function inItAlready(name: string): TypeError {
  return new TypeError(`Cannot join group ${name}: the socket is in it already`);
}

/**
 * The GID of a group, which an IP address names.
 *
 * @throws {SyntaxError} If the text is no IP address.
 * @throws {RangeError} If it is not one of multicast.
 */
export function readGroup(address: string, action: string): Gid {
  return cutTo(readGroup, () => {
    if (typeof address === "object") {
      throw new TypeError(`Cannot ${action}: its address is needed, or its GID, as a text`);
    }
    const group = Gid.parse(address);
    if (group.isMulticast) return group;
    throw new RangeError(
      `Cannot ${action}: ${address} is not an address of multicast, such as 239.1.2.3 or ff15::1`,
    );
  });
}
