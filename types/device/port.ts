import { type CEnum, constants } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { integer } from "../../internal/checks.ts";
import { readStruct } from "../core/attributes.ts";
import { nameIn, namesIn, shown } from "../core/shown.ts";

/**
 * State of a port (`enum ibv_port_state`).
 *
 * @category Devices and ports
 */
export const PortState: {
  /** The device does not report a state. */
  readonly NOP: CEnum.ibv_port_state.IBV_PORT_NOP;
  /** There is no link. */
  readonly DOWN: CEnum.ibv_port_state.IBV_PORT_DOWN;
  /** There is a link, but the subnet manager has not configured it. */
  readonly INIT: CEnum.ibv_port_state.IBV_PORT_INIT;
  /** The link is configured, but does not carry data yet. */
  readonly ARMED: CEnum.ibv_port_state.IBV_PORT_ARMED;
  /** The link carries data. */
  readonly ACTIVE: CEnum.ibv_port_state.IBV_PORT_ACTIVE;
  /** The link is active, and is recovering from a failure. */
  readonly ACTIVE_DEFER: CEnum.ibv_port_state.IBV_PORT_ACTIVE_DEFER;
} = members("ibv_port_state", "IBV_PORT_");
/**
 * A value of `PortState`.
 *
 * @category Devices and ports
 */
export type PortState = typeof PortState[keyof typeof PortState];

/**
 * Link layer of a port (`IBV_LINK_LAYER_*`).
 *
 * @category Devices and ports
 */
export const LinkLayer: {
  /** InfiniBand, reported by old kernels. */
  readonly UNSPECIFIED: 0;
  /** InfiniBand; peers have LIDs. */
  readonly INFINIBAND: 1;
  /** RoCE or iWARP; peers have GIDs only. */
  readonly ETHERNET: 2;
} = Object.freeze({
  UNSPECIFIED: constants.IBV_LINK_LAYER_UNSPECIFIED,
  INFINIBAND: constants.IBV_LINK_LAYER_INFINIBAND,
  ETHERNET: constants.IBV_LINK_LAYER_ETHERNET,
});
/**
 * A value of `LinkLayer`.
 *
 * @category Devices and ports
 */
export type LinkLayer = typeof LinkLayer[keyof typeof LinkLayer];

/**
 * Largest payload of a packet (`enum ibv_mtu`). The values are codes: the code of 4096 bytes is `Mtu[4096]`, which is 5.
 * `mtuBytes` turns a code into bytes.
 *
 * @category Devices and ports
 */
export const Mtu: {
  /** 256 bytes. */
  readonly 256: 1;
  /** 512 bytes. */
  readonly 512: 2;
  /** 1024 bytes. */
  readonly 1024: 3;
  /** 2048 bytes. */
  readonly 2048: 4;
  /** 4096 bytes. */
  readonly 4096: 5;
} = members("ibv_mtu", "IBV_MTU_");
/**
 * A value of `Mtu`.
 *
 * @category Devices and ports
 */
export type Mtu = typeof Mtu[keyof typeof Mtu];

/**
 * Flags of a port (`IBV_QPF_*`), combined with `|`.
 *
 * @category Devices and ports
 */
export const PortFlags: {
  /** Every address on this port needs a GRH, on InfiniBand too. */
  readonly GRH_REQUIRED: 1;
} = Object.freeze({
  GRH_REQUIRED: constants.IBV_QPF_GRH_REQUIRED,
});

/**
 * Capabilities of a port (`enum ibv_port_cap_flags`), combined with `|`. `namesOf` gives their names. They
 * come from the PortInfo attribute of the InfiniBand specification; `IP_BASED_GIDS` is set on RoCE.
 *
 * @category Devices and ports
 */
export const PortCapFlags: {
  /** A subnet manager runs on the port. */
  readonly SM: CEnum.ibv_port_cap_flags.IBV_PORT_SM;
  /** Notices. */
  readonly NOTICE_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_NOTICE_SUP;
  /** Traps. */
  readonly TRAP_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_TRAP_SUP;
  /** Optional delays between packets. */
  readonly OPT_IPD_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_OPT_IPD_SUP;
  /** Migration to an alternative path. */
  readonly AUTO_MIGR_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_AUTO_MIGR_SUP;
  /** A map from service levels to virtual lanes. */
  readonly SL_MAP_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_SL_MAP_SUP;
  /** The M_Key survives a loss of power. */
  readonly MKEY_NVRAM: CEnum.ibv_port_cap_flags.IBV_PORT_MKEY_NVRAM;
  /** The P_Key table survives a loss of power. */
  readonly PKEY_NVRAM: CEnum.ibv_port_cap_flags.IBV_PORT_PKEY_NVRAM;
  /** The state of the LEDs. */
  readonly LED_INFO_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_LED_INFO_SUP;
  /** A GUID of the system image. */
  readonly SYS_IMAGE_GUID_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_SYS_IMAGE_GUID_SUP;
  /** Traps for wrong P_Keys at external ports of a switch. */
  readonly PKEY_SW_EXT_PORT_TRAP_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP;
  /** Speeds from FDR on. */
  readonly EXTENDED_SPEEDS_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_EXTENDED_SPEEDS_SUP;
  /** `PortCapFlags2` are valid. */
  readonly CAP_MASK2_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_CAP_MASK2_SUP;
  /** Communication management. */
  readonly CM_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_CM_SUP;
  /** SNMP through management datagrams. */
  readonly SNMP_TUNNEL_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_SNMP_TUNNEL_SUP;
  /** Another configuration without a loss of state. */
  readonly REINIT_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_REINIT_SUP;
  /** Device management. */
  readonly DEVICE_MGMT_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_DEVICE_MGMT_SUP;
  /** Management classes of vendors. */
  readonly VENDOR_CLASS_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_VENDOR_CLASS_SUP;
  /** Notices with directed routes. */
  readonly DR_NOTICE_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_DR_NOTICE_SUP;
  /** A notice when the capabilities change. */
  readonly CAP_MASK_NOTICE_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_CAP_MASK_NOTICE_SUP;
  /** Boot management. */
  readonly BOOT_MGMT_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_BOOT_MGMT_SUP;
  /** The latency of the link is measured. */
  readonly LINK_LATENCY_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_LINK_LATENCY_SUP;
  /** The subnet manager can ask for registrations again. */
  readonly CLIENT_REG_SUP: CEnum.ibv_port_cap_flags.IBV_PORT_CLIENT_REG_SUP;
  /** GIDs come from IP addresses. It is set on RoCE. */
  readonly IP_BASED_GIDS: CEnum.ibv_port_cap_flags.IBV_PORT_IP_BASED_GIDS;
} = members("ibv_port_cap_flags", "IBV_PORT_");

/**
 * More capabilities of a port (`enum ibv_port_cap_flags2`), combined with `|`.
 *
 * @category Devices and ports
 */
export const PortCapFlags2: {
  /** The description of the node can be set through the network. */
  readonly SET_NODE_DESC_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_SET_NODE_DESC_SUP;
  /** The attribute PortInfoExtended. */
  readonly INFO_EXT_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_INFO_EXT_SUP;
  /** Virtual ports. */
  readonly VIRT_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_VIRT_SUP;
  /** A table of the states of a switch's ports. */
  readonly SWITCH_PORT_STATE_TABLE_SUP:
    CEnum.ibv_port_cap_flags2.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP;
  /** Links of two lanes. */
  readonly LINK_WIDTH_2X_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_LINK_WIDTH_2X_SUP;
  /** HDR: 50 Gb/s per lane. */
  readonly LINK_SPEED_HDR_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_LINK_SPEED_HDR_SUP;
  /** NDR: 100 Gb/s per lane. */
  readonly LINK_SPEED_NDR_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_LINK_SPEED_NDR_SUP;
  /** XDR: 200 Gb/s per lane. */
  readonly LINK_SPEED_XDR_SUP: CEnum.ibv_port_cap_flags2.IBV_PORT_LINK_SPEED_XDR_SUP;
} = members("ibv_port_cap_flags2", "IBV_PORT_");

/**
 * The number of bytes of an MTU code.
 *
 * @throws {TypeError} If it is not an integer.
 * @throws {RangeError} If it is no code.
 *
 * @example Bytes of a code
 * ```ts
 * import { Mtu, mtuBytes } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(mtuBytes(Mtu[1024]), 1024);
 * ```
 *
 * @category Devices and ports
 */
export function mtuBytes(mtu: Mtu): number {
  return 128 << integer(mtu, "mtu", Mtu[256], Mtu[4096]);
}

/**
 * Attributes of a port (`struct ibv_port_attr`).
 *
 * @category Devices and ports
 */
export interface PortAttr {
  /** State. */
  readonly state: PortState;
  /** Largest MTU that the port supports, as a code. */
  readonly maxMtu: Mtu;
  /** MTU in use, as a code. It limits the size of a UD message. */
  readonly activeMtu: Mtu;
  /** Number of slots of the GID table. */
  readonly gidTblLen: number;
  /** `PortCapFlags`, combined. */
  readonly portCapFlags: number;
  /** Largest message, in bytes. */
  readonly maxMsgSz: number;
  /** Number of packets with a wrong P_Key. */
  readonly badPkeyCntr: number;
  /** Number of packets with a wrong Q_Key. */
  readonly qkeyViolCntr: number;
  /** Number of slots of the P_Key table. */
  readonly pkeyTblLen: number;
  /** Base LID. It is 0 on RoCE. */
  readonly lid: number;
  /** LID of the subnet manager. */
  readonly smLid: number;
  /** LID mask control: the number of low bits of the LID that path bits may change. */
  readonly lmc: number;
  /** Number of virtual lanes, as a code. */
  readonly maxVlNum: number;
  /** Service level of the subnet manager. */
  readonly smSl: number;
  /** Subnet timeout: 4.096 us * 2^n. */
  readonly subnetTimeout: number;
  /** Kind of initialisation that the subnet manager did. */
  readonly initTypeReply: number;
  /** Width of the link, as a code: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x. */
  readonly activeWidth: number;
  /** Speed per lane, as a code: 1 is 2.5 Gb/s, 32 is 25 Gb/s, 64 is 50 Gb/s, 128 is 100 Gb/s. */
  readonly activeSpeed: number;
  /** The same for devices with more codes, such as 256 for 200 Gb/s. It is 0 if the device reports `activeSpeed` only. */
  readonly activeSpeedEx: number;
  /** Physical state, as a code: 2 is polling, 3 is disabled, 5 is link up. */
  readonly physState: number;
  /** Link layer. */
  readonly linkLayer: LinkLayer;
  /** `PortFlags`, combined. */
  readonly flags: number;
  /** `PortCapFlags2`, combined. */
  readonly portCapFlags2: number;
}

/** Reads a `struct ibv_port_attr`. */
export function readPortAttr(view: DataView<ArrayBuffer>): PortAttr {
  return shown(readStruct<"ibv_port_attr", PortAttr>("ibv_port_attr", view), {
    state: nameIn(PortState),
    maxMtu: nameIn(Mtu),
    activeMtu: nameIn(Mtu),
    portCapFlags: namesIn(PortCapFlags),
    linkLayer: nameIn(LinkLayer),
    flags: namesIn(PortFlags),
    portCapFlags2: namesIn(PortCapFlags2),
  });
}

/** The longest datagram of a port in bytes; infinite if the port does not report it, as one that is down may not. */
export function longestDatagram({ activeMtu, linkLayer, maxMsgSz }: PortAttr): number {
  // Its packets are longer than any code of an MTU says.
  if (linkLayer === LinkLayer.UNSPECIFIED) return maxMsgSz;
  return Object.values<number>(Mtu).includes(activeMtu) ? mtuBytes(activeMtu) : Infinity;
}
