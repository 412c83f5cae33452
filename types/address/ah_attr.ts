import type { Optional } from "../../internal/optional.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { bytesOfGid, Gid } from "./gid.ts";

/**
 * The address of a peer (`struct ibv_ah_attr`).
 *
 * @category Address handles
 */
export interface AhAttr {
  /** The global part (`struct ibv_global_route`). It is used if `isGlobal` is set. */
  readonly grh: {
    /** The peer's GID, or a multicast GID. */
    readonly dgid: Gid;
    /** Flow label, 20 bits. RoCE v2 devices may derive the UDP source port from it. */
    readonly flowLabel: number;
    /** Index of the GID to send from in the table of the sending port, 0 to 255. Its type selects RoCE v1 or v2. */
    readonly sgidIndex: number;
    /** Hop limit (IPv6) or TTL (IPv4), 0 to 255. For unicast on RoCE the kernel may replace it by the limit of the route. */
    readonly hopLimit: number;
    /** Traffic class (IPv6) or TOS (IPv4), 0 to 255. */
    readonly trafficClass: number;
  };
  /** The peer's LID, in host order. It is 0 on RoCE. */
  readonly dlid: number;
  /** Service level, 0 to 15. */
  readonly sl: number;
  /** Path bits, which are added to the LID of the sending port. */
  readonly srcPathBits: number;
  /** Static rate (`enum ibv_rate`). 0 is the rate of the port. */
  readonly staticRate: number;
  /** Whether packets carry a GRH. RoCE needs one. */
  readonly isGlobal: boolean;
  /** The port to send from, counted from 1. */
  readonly portNum: number;
}

/**
 * An address to make a handle for. `portNum` and one of `grh` and `dlid` are needed. Attributes that are left out are 0.
 *
 * @category Address handles
 */
export interface AhAttrInit extends Optional<Omit<AhAttr, "grh" | "portNum">> {
  /** The global part: `dgid` and `sgidIndex` are needed. If it is given, `isGlobal` is true by default. */
  readonly grh?: GlobalRouteInit | undefined;
  /** The port to send from, counted from 1. */
  readonly portNum: number;
}

/**
 * The global part of an address to make a handle for (`struct ibv_global_route`). Attributes that are left out are 0.
 *
 * @category Address handles
 */
export interface GlobalRouteInit extends Optional<Omit<AhAttr["grh"], "dgid" | "sgidIndex">> {
  /** The peer's GID, or a multicast GID: an object, or the text of an IPv4 or IPv6 address. */
  readonly dgid: Gid | string;
  /** Index of the GID to send from in the table of the sending port, 0 to 255. Its type selects RoCE v1 or v2. */
  readonly sgidIndex: number;
}

const globalRoute: AttributeCodec<GlobalRouteInit, AhAttr["grh"]> = codecOf(
  "ibv_global_route",
  "grh",
  {
    dgid: {
      from: bytesOfGid,
      to: (bytes: Uint8Array<ArrayBuffer>) => new Gid(bytes),
      required: true,
    },
    flowLabel: { bits: 20 },
    sgidIndex: { required: true },
    hopLimit: {},
    trafficClass: {},
  },
);

export const ahAttrCodec: AttributeCodec<AhAttrInit, AhAttr> = codecOf("ibv_ah_attr", "address", {
  grh: { struct: globalRoute },
  dlid: {},
  sl: { bits: 4 },
  srcPathBits: {},
  staticRate: {},
  isGlobal: { boolean: 1, derive: isGlobal },
  portNum: { required: true },
});

function isGlobal({ isGlobal, grh }: Readonly<Record<string, unknown>>): unknown {
  if (isGlobal === true && grh === undefined) {
    throw new TypeError("Cannot use address: isGlobal is set and grh is missing");
  }
  return isGlobal ?? grh !== undefined;
}
