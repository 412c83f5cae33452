import { constants } from "../../ffi/layout.ts";
import { type Members, members } from "../../ffi/members.ts";
import { integer } from "../../internal/checks.ts";

/**
 * State of a port (`enum ibv_port_state`).
 *
 * - `NOP`: the device does not report a state
 * - `DOWN`: there is no link
 * - `INIT`: there is a link, and the subnet manager has not configured it
 * - `ARMED`: the link is configured and does not carry data yet
 * - `ACTIVE`: the link carries data
 * - `ACTIVE_DEFER`: the link carries data and is failing for a moment
 *
 * @category Devices and ports
 */
export const PortState: Pick<
  Members<"ibv_port_state", "IBV_PORT_">,
  "NOP" | "DOWN" | "INIT" | "ARMED" | "ACTIVE" | "ACTIVE_DEFER"
> = members("ibv_port_state", "IBV_PORT_");
/**
 * A value of {@linkcode PortState}.
 *
 * @category Devices and ports
 */
export type PortState = typeof PortState[keyof typeof PortState];

/**
 * Link layer of a port (`IBV_LINK_LAYER_*`).
 *
 * - `UNSPECIFIED`: InfiniBand, reported by old kernels
 * - `INFINIBAND`: InfiniBand; peers have LIDs
 * - `ETHERNET`: RoCE or iWARP; peers have GIDs only
 *
 * @category Devices and ports
 */
export const LinkLayer: {
  readonly UNSPECIFIED: 0;
  readonly INFINIBAND: 1;
  readonly ETHERNET: 2;
} = Object.freeze({
  UNSPECIFIED: constants.IBV_LINK_LAYER_UNSPECIFIED,
  INFINIBAND: constants.IBV_LINK_LAYER_INFINIBAND,
  ETHERNET: constants.IBV_LINK_LAYER_ETHERNET,
});
/**
 * A value of {@linkcode LinkLayer}.
 *
 * @category Devices and ports
 */
export type LinkLayer = typeof LinkLayer[keyof typeof LinkLayer];

/**
 * Largest payload of a packet (`enum ibv_mtu`). The values are codes: the code of 4096 bytes is `Mtu[4096]`, which is 5.
 * {@linkcode mtuBytes} turns a code into bytes.
 *
 * @category Devices and ports
 */
export const Mtu: Members<"ibv_mtu", "IBV_MTU_"> = members("ibv_mtu", "IBV_MTU_");
/**
 * A value of {@linkcode Mtu}.
 *
 * @category Devices and ports
 */
export type Mtu = typeof Mtu[keyof typeof Mtu];

/**
 * Flags of a port (`IBV_QPF_*`), combined with `|`.
 *
 * - `GRH_REQUIRED`: every address on this port needs a GRH, on InfiniBand too
 *
 * @category Devices and ports
 */
export const PortFlags: { readonly GRH_REQUIRED: 1 } = Object.freeze({
  GRH_REQUIRED: constants.IBV_QPF_GRH_REQUIRED,
});

/**
 * Capabilities of a port (`enum ibv_port_cap_flags`), combined with `|`. {@linkcode namesOf} gives their names. They
 * come from the PortInfo attribute of the InfiniBand specification; `IP_BASED_GIDS` is set on RoCE.
 *
 * @category Devices and ports
 */
export const PortCapFlags: Members<"ibv_port_cap_flags", "IBV_PORT_"> = members(
  "ibv_port_cap_flags",
  "IBV_PORT_",
);

/**
 * More capabilities of a port (`enum ibv_port_cap_flags2`), combined with `|`.
 *
 * @category Devices and ports
 */
export const PortCapFlags2: Members<"ibv_port_cap_flags2", "IBV_PORT_"> = members(
  "ibv_port_cap_flags2",
  "IBV_PORT_",
);

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
  /** {@linkcode PortCapFlags}, combined. */
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
  /** {@linkcode PortFlags}, combined. */
  readonly flags: number;
  /** {@linkcode PortCapFlags2}, combined. */
  readonly portCapFlags2: number;
}
