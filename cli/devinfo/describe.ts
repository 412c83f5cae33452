/** Devices and ports as values for JSON. */

import {
  AtomicCap,
  type GidEntry,
  GidType,
  LinkLayer,
  mtuBytes,
  nameOf,
  NodeType,
  PortState,
  TransportType,
} from "@rdma/ibverbs";
import type { ShownDevice } from "./device_lines.ts";
import type { ShownPort } from "./port_lines.ts";
import { guidText } from "./text.ts";

/** A device. Enums are names, GUIDs are text; attributes have the names of the module. */
export function describeDevice(
  { info, attr, boardId }: ShownDevice,
  numCompVectors: number,
): Record<string, unknown> {
  const { origAttr } = attr;
  return {
    ...info,
    guid: guidText(info.guid),
    nodeType: nameOf(NodeType, info.nodeType),
    transportType: nameOf(TransportType, info.transportType),
    ...boardId !== undefined && { boardId },
    numCompVectors,
    attr: {
      ...attr,
      origAttr: {
        ...origAttr,
        nodeGuid: guidText(origAttr.nodeGuid),
        sysImageGuid: guidText(origAttr.sysImageGuid),
        atomicCap: nameOf(AtomicCap, origAttr.atomicCap),
      },
    },
  };
}

/** A port. Enums are names, MTUs are bytes. */
export function describePort({ number, attr, gids, speed }: ShownPort): Record<string, unknown> {
  return {
    port: number,
    ...attr,
    state: nameOf(PortState, attr.state),
    maxMtu: mtuBytes(attr.maxMtu),
    activeMtu: mtuBytes(attr.activeMtu),
    linkLayer: nameOf(LinkLayer, attr.linkLayer),
    ...speed !== undefined && { speed },
    gids: gids.map(describeGid),
  };
}

/** A slot of a GID table. */
export function describeGid(entry: GidEntry): Record<string, unknown> {
  const { gid, gidIndex, gidType, ndevIfindex } = entry;
  return { gidIndex, gid: gid.toString(), gidType: nameOf(GidType, gidType), ndevIfindex };
}
