import { textOf } from "../../internal/texts.ts";
import { copyOfBytes } from "../../internal/checks.ts";
import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { Gid } from "./gid.ts";
import { formatAddress } from "./ip_address.ts";

const { size: SIZE, fields } = structs.ibv_grh;
/** RoCE v2 over IPv4 leaves the first half undefined. The second half is the packet's IPv4 header. */
export const IPV4_AT = 20;
const CHECKSUM_AT = IPV4_AT + 10;

export let grhView: (grh: Grh) => DataView<ArrayBuffer>;

/**
 * A Global Routing Header (`struct ibv_grh`): the first 40 bytes of the buffer that a UD receive was written to.
 * Numbers are in host order.
 *
 * - On InfiniBand, RoCE v1, and RoCE v2 over IPv6, the bytes are a GRH or an IPv6 header. Both have the same fields.
 * - On RoCE v2 over IPv4, the IPv4 header starts at byte 20. The bytes before it are undefined.
 *
 * `Grh.ipVersion` says which of them it is.
 *
 * @example Reading the sender of a packet
 * ```ts
 * import { Grh } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new Uint8Array(40);
 * bytes[20] = 0x45; // IPv4, 5 words
 * bytes.set([10, 0, 0, 1], 32);
 * const grh = new Grh(bytes);
 * assertEquals(grh.ipVersion, 4);
 * assertEquals(grh.ipv4.saddr, "10.0.0.1");
 * ```
 *
 * @category GIDs and headers
 */
export class Grh {
  /** Size in bytes. A UD receive needs this many bytes before its payload. */
  static readonly SIZE: number = SIZE;

  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;

  static {
    grhView = (grh) => grh.#view;
  }

  /**
   * Copies the first 40 bytes.
   *
   * @throws {TypeError} If the argument is not a Uint8Array.
   * @throws {RangeError} If it has fewer bytes.
   */
  constructor(bytes: Uint8Array) {
    this.#bytes = copyOfBytes(bytes, "bytes").slice(0, SIZE);
    if (this.#bytes.length < SIZE) {
      throw new RangeError(
        `Cannot read GRH: it has ${SIZE} bytes, and there are ${this.#bytes.length}`,
      );
    }
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** The sender, the receiver and the fields that routers use, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The sender, the receiver and the fields that routers use, on one line. */
  toString(): string {
    const { ipVersion, sgid, dgid, hopLimit, trafficClass, flowLabel, ipv4: { ttl, tos } } = this;
    const ofRouters = ipVersion === 4
      ? { ttl, tos }
      : ipVersion === 6
      ? { hopLimit, trafficClass, flowLabel }
      : {};
    return textOf("Grh", { ipVersion, sgid, dgid, ...ofRouters });
  }

  /** A copy of the 40 bytes as received. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice();
  }

  /**
   * The version of the header: 4 for IPv4, 6 for IPv6 or an InfiniBand GRH, undefined if it is neither. The rule is that
   * of `ibv_init_ah_from_wc`: if the first byte looks like IPv6 and the second half like IPv4, the IPv4 checksum decides.
   */
  get ipVersion(): 4 | 6 | undefined {
    return ipVersionAt(this.#view, 0);
  }

  /** The first 32 bits: 4 bits of version, 8 bits of traffic class, 20 bits of flow label. */
  get versionTclassFlow(): number {
    return readField(this.#view, fields.version_tclass_flow);
  }

  /** Traffic class. It is valid if `Grh.ipVersion` is 6. */
  get trafficClass(): number {
    return this.versionTclassFlow >>> 20 & 0xff;
  }

  /** Flow label, 20 bits. It is valid if `Grh.ipVersion` is 6. */
  get flowLabel(): number {
    return this.versionTclassFlow & 0xf_ffff;
  }

  /** Payload length in bytes. It is valid if `Grh.ipVersion` is 6. */
  get paylen(): number {
    return readField(this.#view, fields.paylen);
  }

  /**
   * The next header: 17 is UDP (RoCE v2), 27 is the BTH (InfiniBand and RoCE v1). It is valid if
   * `Grh.ipVersion` is 6.
   */
  get nextHdr(): number {
    return readField(this.#view, fields.next_hdr);
  }

  /** Hop limit as received. It is valid if `Grh.ipVersion` is 6. */
  get hopLimit(): number {
    return readField(this.#view, fields.hop_limit);
  }

  /** The GID of the sender. An IPv4 sender gives the IPv4-mapped GID. */
  get sgid(): Gid {
    return this.ipVersion === 4 ? Gid.parse(this.ipv4.saddr) : this.#gid(fields.sgid);
  }

  /** The GID of the receiver, which may be a multicast GID. An IPv4 receiver gives the IPv4-mapped GID. */
  get dgid(): Gid {
    return this.ipVersion === 4 ? Gid.parse(this.ipv4.daddr) : this.#gid(fields.dgid);
  }

  #gid({ offset, size }: { offset: number; size: number }): Gid {
    return new Gid(this.#bytes.subarray(offset, offset + size));
  }

  /** The second half as an IPv4 header, as RFC 791 lays it out. It is valid if `Grh.ipVersion` is 4. */
  get ipv4(): {
    /** Header length in 32-bit words. It is 5 without options. */
    readonly ihl: number;
    /** Type of service (DSCP and ECN). It becomes the traffic class of a reply. */
    readonly tos: number;
    /** Length of the packet in bytes, with the IPv4 header. */
    readonly totalLength: number;
    /** Identification, for the reassembly of fragments. */
    readonly identification: number;
    /** Time to live as received. */
    readonly ttl: number;
    /** Protocol of the payload. 17 is UDP. */
    readonly protocol: number;
    /** Header checksum. Some devices set it to 0. */
    readonly checksum: number;
    /** Address of the sender, such as `10.0.0.1`. */
    readonly saddr: string;
    /** Address of the receiver, such as `10.0.0.2`. */
    readonly daddr: string;
  } {
    const view = new DataView(this.#bytes.buffer, IPV4_AT);
    return {
      ihl: view.getUint8(0) & 0xf,
      tos: view.getUint8(1),
      totalLength: view.getUint16(2),
      identification: view.getUint16(4),
      ttl: view.getUint8(8),
      protocol: view.getUint8(9),
      checksum: view.getUint16(10),
      saddr: formatAddress(this.#bytes.subarray(IPV4_AT + 12, IPV4_AT + 16)),
      daddr: formatAddress(this.#bytes.subarray(IPV4_AT + 16, IPV4_AT + 20)),
    };
  }
}

/** `Grh.ipVersion` of the GRH at an offset. */
export function ipVersionAt(grh: DataView, at: number): 4 | 6 | undefined {
  const ipv4 = grh.getUint8(at + IPV4_AT);
  if (grh.getUint8(at) >> 4 !== 6) return ipv4 >> 4 === 4 ? 4 : undefined;
  return (ipv4 & 0xf) === 5 && hasIpv4Checksum(grh, at) ? 4 : 6;
}

/**
 * Whether the second half of a GRH has the checksum that `ibv_init_ah_from_wc` computes. That function folds the sum only
 * once, so its result differs from RFC 1071 if the fold carries. The result here must be the same.
 */
export function hasIpv4Checksum(grh: DataView, base = 0): boolean {
  let sum = 0;
  for (let at = base + IPV4_AT; at < base + SIZE; at += 2) sum += grh.getUint16(at, true);
  const checksum = grh.getUint16(base + CHECKSUM_AT, true);
  sum -= checksum;
  return (~((sum & 0xffff) + (sum >>> 16)) & 0xffff) === checksum;
}
