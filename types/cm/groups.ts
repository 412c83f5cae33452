import type { RdmaCmId } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import type { CheckOptions } from "../core/errors.ts";
import { isOfDatagrams } from "./cm_options.ts";
import { CmEventType, type PortSpace } from "./enums.ts";
import { callCm } from "./errors.ts";

interface JoinAttr {
  readonly joinFlags: number;
}

const joinCodec: AttributeCodec<JoinAttr, JoinAttr, { compMask: number; addr: Uint8Array }> =
  codecOf("rdma_cm_join_mc_attr_ex", "multicast attributes", {
    compMask: { own: true },
    joinFlags: { max: 1 },
    addr: { own: true, pointer: true },
  });

interface Group {
  /** librdmacm returns it in the events of the group. */
  readonly number: bigint;
  readonly sockaddr: DataView<ArrayBuffer>;
  isJoined: boolean;
}

let joins = 0n;

/** The multicast groups of an id. librdmacm keeps memory for each one until it is left, even if the id is destroyed. */
export class Groups {
  /** The newest first, as librdmacm finds them. */
  readonly #groups: Group[] = [];

  readonly #hint: CheckOptions;

  constructor(portSpace: PortSpace) {
    this.#hint = { hint: (code) => causeOf(JOIN_CAUSES, code, portSpace) };
  }

  /** Asks to join a group. Returns the number that its events have. */
  join(id: RdmaCmId, sockaddr: DataView<ArrayBuffer>, sendOnly: boolean): bigint {
    const number = ++joins;
    if (sendOnly) {
      const own = { compMask: 3, addr: new Uint8Array(sockaddr.buffer) };
      const { view } = joinCodec.write({ joinFlags: 1 }, own);
      callCm("rdma_join_multicast_ex", "join group", [id, view, number], this.#hint);
    } else {
      callCm("rdma_join_multicast", "join group", [id, sockaddr, number], this.#hint);
    }
    this.#groups.unshift({ number, sockaddr, isJoined: false });
    return number;
  }

  /** Leaves a group. Returns its number, if the id is in it. */
  leave(id: RdmaCmId, sockaddr: DataView<ArrayBuffer>): bigint | undefined {
    callCm("rdma_leave_multicast", "leave group", [id, sockaddr]);
    const index = this.#groups.findIndex((group) => isSame(group.sockaddr, sockaddr));
    return index < 0 ? undefined : this.#groups.splice(index, 1)[0]!.number;
  }

  /** Leaves all groups of an id that is about to be destroyed. */
  leaveAll(id: RdmaCmId): void {
    for (const { sockaddr } of [...this.#groups]) this.#leaveQuietly(id, sockaddr);
  }

  /** Returns which group an event is about. A group that could not be joined is left. */
  answered(id: RdmaCmId, view: DataView<ArrayBuffer>, type: CmEventType): bigint {
    const { offset } = structs.rdma_cm_event.fields.param;
    // The number is where other events have private data.
    const number = readField(view, structs.rdma_ud_param.fields.private_data, offset);
    const group = this.#groups.find((known) => known.number === number);
    if (group === undefined) return number;
    if (type === CmEventType.MULTICAST_JOIN) group.isJoined = true;
    else if (!group.isJoined) this.#leaveQuietly(id, group.sockaddr);
    return number;
  }

  #leaveQuietly(id: RdmaCmId, sockaddr: DataView<ArrayBuffer>): void {
    try {
      this.leave(id, sockaddr);
    } catch {
      // The device has gone, and the group with it.
    }
  }
}

function isSame(left: DataView, right: DataView): boolean {
  if (left.byteLength !== right.byteLength) return false;
  return new Uint8Array(left.buffer).every((byte, i) => byte === right.getUint8(i));
}

export const JOIN_CAUSES: Causes<PortSpace> = [
  // A number that Linux uses internally (ENOTSUPP), which errno(3) does not have.
  [
    "errno 524",
    "Linux joins only IPv4 groups over RoCE. UdConn.join() with deviceOnly leaves out the network",
  ],
  [
    "EINVAL",
    "Only ids for datagrams join groups: new CmId(channel, PortSpace.UDP)",
    (portSpace) => !isOfDatagrams(portSpace),
  ],
];
