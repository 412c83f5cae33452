import type { IbvQp } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import { uint16 } from "../../internal/checks.ts";
import { bytesOfGid, Gid } from "../address/gid.ts";
import { check } from "../core/errors.ts";

/** A multicast group. */
interface Group {
  readonly gid: Gid;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lid: number;
}

/** The multicast groups that a queue pair is attached to. The kernel does not destroy a queue pair before it has left them. */
export class MulticastGroups {
  readonly #groups: Map<string, Group> = new Map();

  /** Attaches a queue pair to a group. */
  attach(handle: () => IbvQp, gid: Gid, lid: number): void {
    const [name, group] = checkGroup(gid, lid);
    const result = verbs().ibv_attach_mcast(handle(), group.bytes, group.lid);
    check("ibv_attach_mcast", `join multicast group ${group.gid}`, result);
    this.#groups.set(name, group);
  }

  /** Detaches a queue pair from a group. */
  detach(handle: () => IbvQp, gid: Gid, lid: number): void {
    const [name, group] = checkGroup(gid, lid);
    const result = verbs().ibv_detach_mcast(handle(), group.bytes, group.lid);
    check("ibv_detach_mcast", `leave multicast group ${group.gid}`, result);
    this.#groups.delete(name);
  }

  /** Detaches a queue pair from all groups before it is destroyed. A group that cannot be left makes that fail. */
  detachAll(handle: IbvQp): void {
    for (const [name, { bytes, lid }] of this.#groups) {
      if (verbs().ibv_detach_mcast(handle, bytes, lid) === 0) this.#groups.delete(name);
    }
  }
}

function checkGroup(gid: Gid, lid: number): [name: string, group: Group] {
  const bytes = bytesOfGid(gid, "gid");
  return [`${bytes.toHex()} ${uint16(lid, "lid")}`, { gid: new Gid(bytes), bytes, lid }];
}
