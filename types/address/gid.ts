import { ofCaller } from "../../internal/caller.ts";
import { copyOfBytes, instanceOf, show } from "../../internal/checks.ts";
import { isGroup, LOOPBACK_IFINDEX, type Reach, reachOf } from "../../internal/reach.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { readField } from "../../ffi/struct.ts";
import { formatAddress, parseAddress } from "./ip_address.ts";

/**
 * How a GID table entry addresses packets (`enum ibv_gid_type`).
 *
 * @category GIDs and headers
 */
export const GidType: {
  /** InfiniBand. */
  readonly IB: CEnum.ibv_gid_type.IBV_GID_TYPE_IB;
  /** RoCE v1: Ethernet frames, which routers do not forward. */
  readonly ROCE_V1: CEnum.ibv_gid_type.IBV_GID_TYPE_ROCE_V1;
  /** RoCE v2: UDP over IPv4 or IPv6. */
  readonly ROCE_V2: CEnum.ibv_gid_type.IBV_GID_TYPE_ROCE_V2;
} = members("ibv_gid_type", "IBV_GID_TYPE_");
/**
 * A value of `GidType`.
 *
 * @category GIDs and headers
 */
export type GidType = typeof GidType[keyof typeof GidType];

/**
 * The bytes of a GID that a caller gave, an object or a text, without a copy: do not change them. An override of
 * `bytes` has no effect on them.
 *
 * @throws {TypeError} If it is neither.
 * @throws {SyntaxError} If the text is no address.
 */
export let bytesOfGid: (value: unknown, what: string) => Uint8Array<ArrayBuffer>;

const SIZE = structs.ibv_gid.size;
const IPV4_MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/**
 * A GID (`union ibv_gid`): 16 bytes in network order. On RoCE it is an IPv6 address, or an IPv4 address in its
 * IPv4-mapped form. Immutable.
 *
 * @example From text and back
 * ```ts
 * import { Gid } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * const gid = Gid.parse("10.0.0.1");
 * assertEquals(gid.toString(), "::ffff:10.0.0.1");
 * assertEquals(gid.isIpv4Mapped, true);
 * ```
 *
 * @category GIDs and headers
 */
export class Gid {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  static {
    bytesOfGid = (value, what) => {
      const gid = gidFrom(value, what);
      if (#bytes in gid) return gid.#bytes;
      throw new TypeError(`Cannot use ${what}: it is not a Gid, but looks like one`);
    };
  }

  /**
   * Copies 16 bytes in network order.
   *
   * @throws {TypeError} If the argument is not a Uint8Array.
   * @throws {RangeError} If it does not have 16 bytes.
   */
  constructor(bytes: Uint8Array) {
    this.#bytes = copyOfBytes(bytes, "bytes");
    if (this.#bytes.length !== SIZE) {
      throw new RangeError(`Cannot make GID: it has ${SIZE} bytes, not ${this.#bytes.length}`);
    }
  }

  /**
   * Reads an IPv6 or an IPv4 address. An IPv4 address gives the IPv4-mapped GID.
   *
   * @throws {TypeError} If the argument is not a string.
   * @throws {SyntaxError} If the text is no address.
   */
  static parse(text: string): Gid {
    const address = parseAddress(text);
    return new Gid(address.length === SIZE ? address : Uint8Array.of(...IPV4_MAPPED, ...address));
  }

  /** A copy of the bytes, in network order. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice();
  }

  /** The upper 8 bytes: the subnet prefix, as a number. */
  get subnetPrefix(): bigint {
    return readField(this.#view, structs.ibv_gid.fields["global.subnet_prefix"]);
  }

  /** The lower 8 bytes: the interface identifier, as a number. */
  get interfaceId(): bigint {
    return readField(this.#view, structs.ibv_gid.fields["global.interface_id"]);
  }

  get #view(): DataView<ArrayBuffer> {
    return new DataView(this.#bytes.buffer);
  }

  /** Whether the GID is an IPv4 address in IPv4-mapped form (`::ffff:a.b.c.d`). */
  get isIpv4Mapped(): boolean {
    return IPV4_MAPPED.every((byte, i) => byte === this.#bytes[i]);
  }

  /** Whether it is a multicast GID: `ff00::/8`, or an IPv4 group in IPv4-mapped form. */
  get isMulticast(): boolean {
    return isGroup(this.#bytes);
  }

  /** Whether the GID is link-local (`fe80::/10`). On RoCE it reaches only peers on the same link: see `Gid.reach`. */
  get isLinkLocal(): boolean {
    return this.#bytes[0] === 0xfe && (this.#bytes[1]! & 0xc0) === 0x80;
  }

  /**
   * How far the GID reaches on RoCE v2, where it is an IP address: a loopback address only its own host, a link-local one
   * only its own link. `Context.recommendGid` also looks at the network interface.
   */
  get reach(): Reach {
    return reachOf(this.#bytes);
  }

  /** Whether all bytes are zero. An empty slot of the GID table has such a GID. */
  get isZero(): boolean {
    return this.#bytes.every((byte) => byte === 0);
  }

  /**
   * Whether the other GID, which may be a text, has the same bytes.
   *
   * @throws {TypeError} If it is neither a GID nor a string.
   * @throws {SyntaxError} If the text is no address.
   */
  equals(other: Gid | string): boolean {
    const bytes = bytesOfGid(other, "other");
    return this.#bytes.every((byte, i) => byte === bytes[i]);
  }

  /** The text form of `inet_ntop(3)`, such as `fe80::1` or `::ffff:10.0.0.1`. */
  toString(): string {
    return formatAddress(this.#bytes);
  }

  /** The text form, for logs and JSON. */
  toJSON(): string {
    return this.toString();
  }

  /** The text form, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return `Gid(${this.toString()})`;
  }
}

/**
 * The GID that a caller gave, as an object or as a text.
 *
 * @throws {TypeError} If it is neither.
 * @throws {SyntaxError} If the text is no address.
 */
export function gidFrom(value: unknown, what: string): Gid {
  if (typeof value !== "string") return instanceOf(value, Gid, what);
  try {
    return Gid.parse(value);
  } catch {
    throw ofCaller(
      new SyntaxError(
        `Cannot use ${what} ${show(value)}: it is neither a Gid nor an IPv4 or IPv6 address`,
      ),
      gidFrom,
    );
  }
}

/**
 * A used slot of a device's GID table (`struct ibv_gid_entry`).
 *
 * @category GIDs and headers
 */
export interface GidEntry {
  /** The GID. */
  readonly gid: Gid;
  /** The index of the slot in the port's table. `sgidIndex` of an address refers to it. */
  readonly gidIndex: number;
  /** The port, counted from 1. */
  readonly portNum: number;
  /** How packets are addressed. Some drivers report IB on an Ethernet port too, where it means RoCE v1. */
  readonly gidType: GidType;
  /** The index of the slot's network interface, as `if_nametoindex(3)` gives it. It is 0 if there is none. */
  readonly ndevIfindex: number;
}

/** How far packets go whose source is the GID of a slot. Routers forward no packets of RoCE v1. */
export function reachOfSlot({ gid, gidType, ndevIfindex }: GidEntry): Reach {
  if (ndevIfindex === LOOPBACK_IFINDEX) return "host";
  return gidType === GidType.ROCE_V1 && gid.reach === "networks" ? "link" : gid.reach;
}
