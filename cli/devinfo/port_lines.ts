/** The output of `ibv_devinfo` about a port. */

import {
  type GidEntry,
  GidType,
  LinkLayer,
  Mtu,
  mtuBytes,
  type PortAttr,
  PortState,
  TransportType,
} from "@rdma/ibverbs";
import { fullGid } from "../shell/ports.ts";
import { hex } from "../shell/text.ts";
import { field, named, type Names } from "./text.ts";

const COLUMN = 48;

const STATES: Names = {
  [PortState.DOWN]: "PORT_DOWN",
  [PortState.INIT]: "PORT_INIT",
  [PortState.ARMED]: "PORT_ARMED",
  [PortState.ACTIVE]: "PORT_ACTIVE",
};

const MTUS: Names = Object.fromEntries(
  Object.values(Mtu).map((mtu) => [mtu, String(mtuBytes(mtu))]),
);

const LINK_LAYERS: Names = {
  [LinkLayer.UNSPECIFIED]: "Unspecified",
  [LinkLayer.INFINIBAND]: "InfiniBand",
  [LinkLayer.ETHERNET]: "Ethernet",
};

// The codes of PortInfo in the InfiniBand specification.
const VIRTUAL_LANES: Names = { 1: "1", 2: "2", 3: "4", 4: "8", 5: "15" };
const WIDTHS: Names = { 1: "1", 2: "4", 4: "8", 8: "12", 16: "2" };
const SPEEDS: Names = {
  1: "2.5 Gbps",
  2: "5.0 Gbps",
  4: "10.0 Gbps",
  8: "10.0 Gbps",
  16: "14.0 Gbps",
  32: "25.0 Gbps",
  64: "50.0 Gbps",
  128: "100.0 Gbps",
  256: "200.0 Gbps",
};
const PHYS_STATES: Names = {
  1: "SLEEP",
  2: "POLLING",
  3: "DISABLED",
  4: "PORT_CONFIGURATION TRAINNING",
  5: "LINK_UP",
  6: "LINK_ERROR_RECOVERY",
  7: "PHY TEST",
};

export interface ShownPort {
  readonly number: number;
  readonly attr: PortAttr;
  readonly gids: readonly GidEntry[];
  readonly transportType: TransportType;
  /** The speed that `queryPortSpeed()` returns; undefined where it fails. */
  readonly speed: bigint | undefined;
}

type Row = readonly [label: string, value: string | number];

/** The lines of a port, with those of `-v` if requested. */
export function portLines(port: ShownPort, verbose: boolean): string[] {
  const { attr } = port;
  const rows: Row[] = [
    ["state", named(STATES, attr.state, "invalid state")],
    ["max_mtu", named(MTUS, attr.maxMtu, "invalid MTU")],
    ["active_mtu", named(MTUS, attr.activeMtu, "invalid MTU")],
    ["sm_lid", attr.smLid],
    ["port_lid", attr.lid],
    ["port_lmc", hex(attr.lmc, 2)],
    ["link_layer", LINK_LAYERS[attr.linkLayer] ?? "Unknown"],
    ...verbose ? verboseRows(port) : [],
  ];
  return [
    `\t\tport:\t${port.number}`,
    ...rows.map(([label, value]) => field(3, label, value, COLUMN)),
    "",
  ];
}

function verboseRows({ attr, gids, transportType, speed }: ShownPort): Row[] {
  const widths = WIDTHS[attr.activeWidth] ?? "invalid width";
  const state: Row = ["phys_state", named(PHYS_STATES, attr.physState, "invalid physical state")];
  return [
    ["max_msg_sz", hex(attr.maxMsgSz)],
    ["port_cap_flags", hex(attr.portCapFlags >>> 0, 8)],
    ["port_cap_flags2", hex(attr.portCapFlags2, 4)],
    ["max_vl_num", named(VIRTUAL_LANES, attr.maxVlNum, "invalid value")],
    ["bad_pkey_cntr", hex(attr.badPkeyCntr)],
    ["qkey_viol_cntr", hex(attr.qkeyViolCntr)],
    ["sm_sl", attr.smSl],
    ["pkey_tbl_len", attr.pkeyTblLen],
    ["gid_tbl_len", attr.gidTblLen],
    ["subnet_timeout", attr.subnetTimeout],
    ["init_type_reply", attr.initTypeReply],
    ["active_width", `${widths}X (${attr.activeWidth})`],
    ["active_speed", named(SPEEDS, attr.activeSpeedEx || attr.activeSpeed, "invalid speed")],
    ...speed === undefined ? [] : [["effective_speed", gigabits(speed)] as const],
    ...transportType === TransportType.IB ? [state] : [],
    ...gids.filter(({ gid }) => !gid.isZero).map((entry): Row => [
      `GID[${String(entry.gidIndex).padStart(3)}]`,
      gidText(entry, attr.linkLayer),
    ]),
  ];
}

function gigabits(speed: bigint): string {
  return `${(Number(speed) / 10).toFixed(1)} Gbps`;
}

function gidText({ gid, gidType }: GidEntry, linkLayer: LinkLayer): string {
  const text = gidType === GidType.ROCE_V2 ? gid.toString() : fullGid(gid);
  if (linkLayer !== LinkLayer.ETHERNET) return text;
  return `${text}, ${gidType === GidType.ROCE_V2 ? "RoCE v2" : "RoCE v1"}`;
}
