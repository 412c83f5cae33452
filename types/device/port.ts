/**
 * Ports of a device.
 *
 * @module
 */

import { constants, enums } from "../../ffi/layout.ts";
import { type Members, members } from "../core/enums.ts";

/**
 * State of a port (`enum ibv_port_state`).
 *
 * - `NOP`: not reported
 * - `DOWN`: no link
 * - `INIT`: link, but not configured by a subnet manager
 * - `ARMED`: configured, not yet carrying data
 * - `ACTIVE`: carries data
 * - `ACTIVE_DEFER`: carries data, link failing for a moment
 */
export const PortState: Pick<
  Members<typeof enums.ibv_port_state, "IBV_PORT_">,
  "NOP" | "DOWN" | "INIT" | "ARMED" | "ACTIVE" | "ACTIVE_DEFER"
> = members(enums.ibv_port_state, "IBV_PORT_");
/** A value of {@linkcode PortState}. */
export type PortState = typeof PortState[keyof typeof PortState];

/**
 * What a port's link is (`IBV_LINK_LAYER_*`).
 *
 * - `UNSPECIFIED`: InfiniBand, on old kernels
 * - `INFINIBAND`: InfiniBand: peers have LIDs
 * - `ETHERNET`: Ethernet, that is RoCE or iWARP: peers have GIDs only
 */
export const LinkLayer: Members<typeof constants, "IBV_LINK_LAYER_"> = members(
  constants,
  "IBV_LINK_LAYER_",
);
/** A value of {@linkcode LinkLayer}. */
export type LinkLayer = typeof LinkLayer[keyof typeof LinkLayer];

/** Largest packet payload (`enum ibv_mtu`): `256`, `512`, `1024`, `2048` or `4096` bytes, by its code 1 to 5. */
export const Mtu: Members<typeof enums.ibv_mtu, "IBV_MTU_"> = members(enums.ibv_mtu, "IBV_MTU_");
/** A value of {@linkcode Mtu}. */
export type Mtu = typeof Mtu[keyof typeof Mtu];

/** The payload bytes that an MTU code stands for: 5 is 4096. */
export function mtuBytes(mtu: Mtu): number {
  return 128 << mtu;
}

/** Attributes of a port (`struct ibv_port_attr`). */
export interface PortAttr {
  /** Its state. */
  readonly state: PortState;
  /** Largest MTU it can do, as a code. */
  readonly maxMtu: Mtu;
  /** MTU in use, as a code; {@linkcode mtuBytes} gives bytes. It bounds a UD message. */
  readonly activeMtu: Mtu;
  /** Slots of the GID table. */
  readonly gidTblLen: number;
  /** Capabilities (`enum ibv_port_cap_flags`), combined. */
  readonly portCapFlags: number;
  /** Largest message in bytes. */
  readonly maxMsgSz: number;
  /** Packets refused for their P_Key. */
  readonly badPkeyCntr: number;
  /** Packets refused for their qkey. */
  readonly qkeyViolCntr: number;
  /** Slots of the P_Key table. */
  readonly pkeyTblLen: number;
  /** Base local identifier; 0 on RoCE. */
  readonly lid: number;
  /** LID of the subnet manager. */
  readonly smLid: number;
  /** Number of low bits of the LID that packets may vary. */
  readonly lmc: number;
  /** Most virtual lanes, as a code. */
  readonly maxVlNum: number;
  /** Service level of the subnet manager. */
  readonly smSl: number;
  /** Subnet timeout, as an exponent: 4.096 us * 2^n. */
  readonly subnetTimeout: number;
  /** Kind of initialisation done by the subnet manager. */
  readonly initTypeReply: number;
  /** Link width in use, as a code: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x. */
  readonly activeWidth: number;
  /** Link speed in use per lane, as a code: 1 is 2.5 Gb/s, 32 is 25, 64 is 50, 128 is 100. */
  readonly activeSpeed: number;
  /** Physical state: 2 polling, 3 disabled, 5 link up. */
  readonly physState: number;
  /** What the link is. */
  readonly linkLayer: LinkLayer;
  /** Flags (`IBV_QPF_*`): 1 is GRH_REQUIRED, every address then needs a GRH. */
  readonly flags: number;
  /** More capabilities (`enum ibv_port_cap_flags2`), combined. */
  readonly portCapFlags2: number;
}
