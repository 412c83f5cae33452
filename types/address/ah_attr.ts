/**
 * Addresses of peers, which address handles and connected queue pairs take.
 *
 * @module
 */

import { structs } from "../ffi/layout.ts";
import { allocStruct, fieldBytes, readField, writeField } from "../ffi/struct.ts";
import { Gid } from "./gid.ts";
import { integer, uint16, uint8 } from "./validate.ts";

const { fields } = structs.ibv_ah_attr;

/** The global part of an address (`struct ibv_global_route`): what goes into the packet's GRH or IP header. */
export interface GlobalRoute {
  /** The peer's GID, or a multicast GID. */
  readonly dgid: Gid;
  /** Flow label, 20 bits. RoCE v2 may derive the UDP source port from it. */
  readonly flowLabel: number;
  /** Index of the sending port's GID to send from, 0 to 255; its type decides RoCE v1 or v2. */
  readonly sgidIndex: number;
  /** Hop limit or TTL, 0 to 255. For unicast on RoCE the kernel may put the route's own in its place. */
  readonly hopLimit: number;
  /** Traffic class or TOS, 0 to 255. */
  readonly trafficClass: number;
}

/** The address of a peer (`struct ibv_ah_attr`). */
export interface AhAttr {
  /** The global part; used where `isGlobal`. */
  readonly grh: GlobalRoute;
  /** The peer's LID; 0 on RoCE. */
  readonly dlid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Path bits to add to the port's LID. */
  readonly srcPathBits: number;
  /** Static rate (`enum ibv_rate`); 0 is the port's own. */
  readonly staticRate: number;
  /** Whether packets carry a GRH. RoCE needs one. */
  readonly isGlobal: boolean;
  /** The port to send from, from 1. */
  readonly portNum: number;
}

/** An address to make a handle for: `portNum` and either `grh` or `dlid` are needed, all else is 0 unless given. */
export interface AhAttrInit extends Partial<Omit<AhAttr, "grh" | "portNum">> {
  /** The global part. `isGlobal` follows from it being there, unless given. */
  readonly grh?: GlobalRouteInit;
  /** The port to send from, from 1. */
  readonly portNum: number;
}

/** The global part of an address to make a handle for. */
export interface GlobalRouteInit extends Partial<Omit<GlobalRoute, "dgid" | "sgidIndex">> {
  /** The peer's GID, or a multicast GID. */
  readonly dgid: Gid;
  /** Index of the sending port's GID to send from. */
  readonly sgidIndex: number;
}

/** Writes an address in native layout, all fields checked and the rest zeroed. */
export function writeAhAttr(attr: AhAttrInit): DataView<ArrayBuffer> {
  const { grh } = attr;
  const isGlobal = attr.isGlobal ?? grh !== undefined;
  if (isGlobal && grh === undefined) {
    throw new TypeError("Cannot use address: isGlobal is set and grh is missing");
  }
  const view = allocStruct(structs.ibv_ah_attr);
  if (grh !== undefined) writeGlobalRoute(view, grh);
  writeField(view, fields.dlid, uint16(attr.dlid ?? 0, "dlid"));
  writeField(view, fields.sl, integer(attr.sl ?? 0, "sl", 0, 15));
  writeField(view, fields.src_path_bits, uint8(attr.srcPathBits ?? 0, "srcPathBits"));
  writeField(view, fields.static_rate, uint8(attr.staticRate ?? 0, "staticRate"));
  writeField(view, fields.is_global, Number(isGlobal));
  writeField(view, fields.port_num, uint8(attr.portNum, "portNum"));
  return view;
}

function writeGlobalRoute(view: DataView<ArrayBuffer>, grh: GlobalRouteInit): void {
  if (!(grh.dgid instanceof Gid)) {
    throw new TypeError("Cannot use address: grh.dgid is not a Gid");
  }
  fieldBytes(view, fields["grh.dgid"]).set(grh.dgid.bytes);
  writeField(view, fields["grh.flow_label"], integer(grh.flowLabel ?? 0, "flowLabel", 0, 0xf_ffff));
  writeField(view, fields["grh.sgid_index"], uint8(grh.sgidIndex, "sgidIndex"));
  writeField(view, fields["grh.hop_limit"], uint8(grh.hopLimit ?? 0, "hopLimit"));
  writeField(view, fields["grh.traffic_class"], uint8(grh.trafficClass ?? 0, "trafficClass"));
}

/** Reads an address from native layout. */
export function readAhAttr(view: DataView<ArrayBuffer>): AhAttr {
  return {
    grh: {
      dgid: new Gid(fieldBytes(view, fields["grh.dgid"])),
      flowLabel: readField(view, fields["grh.flow_label"]),
      sgidIndex: readField(view, fields["grh.sgid_index"]),
      hopLimit: readField(view, fields["grh.hop_limit"]),
      trafficClass: readField(view, fields["grh.traffic_class"]),
    },
    dlid: readField(view, fields.dlid),
    sl: readField(view, fields.sl),
    srcPathBits: readField(view, fields.src_path_bits),
    staticRate: readField(view, fields.static_rate),
    isGlobal: readField(view, fields.is_global) !== 0,
    portNum: readField(view, fields.port_num),
  };
}
