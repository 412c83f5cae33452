/** The flags that `ibv_devinfo` names, in its order. */

import { constants } from "../../ffi/mod.ts";
import { DeviceCapFlags, OdpTransportCaps, QpType, RawPacketCaps } from "../../mod.ts";

const CAP_NAMES = [
  "RESIZE_MAX_WR",
  "BAD_PKEY_CNTR",
  "BAD_QKEY_CNTR",
  "RAW_MULTI",
  "AUTO_PATH_MIG",
  "CHANGE_PHY_PORT",
  "UD_AV_PORT_ENFORCE",
  "CURR_QP_STATE_MOD",
  "SHUTDOWN_PORT",
  "INIT_TYPE",
  "PORT_ACTIVE_EVENT",
  "SYS_IMAGE_GUID",
  "RC_RNR_NAK_GEN",
  "SRQ_RESIZE",
  "N_NOTIFY_CQ",
  "MEM_WINDOW",
  "UD_IP_CSUM",
  "XRC",
  "MEM_MGT_EXTENSIONS",
  "MEM_WINDOW_TYPE_2A",
  "MEM_WINDOW_TYPE_2B",
  "RC_IP_CSUM",
  "RAW_IP_CSUM",
  "MANAGED_FLOW_STEERING",
] as const satisfies readonly (keyof typeof DeviceCapFlags)[];

/** Bits of `device_cap_flags`. */
export const CAP_FLAGS: Readonly<Record<string, number>> = Object.fromEntries(
  CAP_NAMES.map((name) => [name, DeviceCapFlags[name]]),
);

/** Bits of `device_cap_flags_ex` above those of `device_cap_flags`. verbs.h has them as macros. */
export const EXTENDED_CAP_FLAGS: Readonly<Record<string, number>> = {
  RAW_SCATTER_FCS: constants.IBV_DEVICE_RAW_SCATTER_FCS,
  PCI_WRITE_END_PADDING: constants.IBV_DEVICE_PCI_WRITE_END_PADDING,
};

const ODP_NAMES = [
  "SEND",
  "RECV",
  "WRITE",
  "READ",
  "ATOMIC",
  "SRQ_RECV",
] as const satisfies readonly (keyof typeof OdpTransportCaps)[];

/** Bits of the on-demand paging of a type of queue pair. */
export const ODP_TRANSPORT_FLAGS: Readonly<Record<string, number>> = Object.fromEntries(
  ODP_NAMES.map((name) => [
    `SUPPORT_${name === "SRQ_RECV" ? "SRQ" : name}`,
    OdpTransportCaps[name],
  ]),
);

/** Types of queue pairs that an offload may support. */
export const SUPPORTED_QPTS: Readonly<Record<string, number>> = {
  SUPPORT_RAW_PACKET: 1 << QpType.RAW_PACKET,
  SUPPORT_UD: 1 << QpType.UD,
};

/** Offloads of raw packets. */
export const RAW_PACKET_FLAGS: Readonly<Record<string, number>> = {
  "C-VLAN stripping offload": RawPacketCaps.CVLAN_STRIPPING,
  "Scatter FCS offload": RawPacketCaps.SCATTER_FCS,
  "IP csum offload": RawPacketCaps.IP_CSUM,
  "Delay drop": RawPacketCaps.DELAY_DROP,
};

/** All bits of {@linkcode RAW_PACKET_FLAGS}. `ibv_devinfo` does not mention the others. */
export const RAW_PACKET_MASK: number = Object.values(RAW_PACKET_FLAGS).reduce((a, b) => a | b);
