/**
 * The 40 bytes before the payload of a UD receive.
 *
 * @module
 */

import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { formatAddress } from "./ip_address.ts";
import { Gid } from "./gid.ts";

const { size: SIZE, fields } = structs.ibv_grh;
/** RoCE v2 over IPv4 leaves the first half undefined; the packet's IPv4 header fills the second. */
export const IPV4_AT = 20;
const CHECKSUM_AT = IPV4_AT + 10;

/** The IPv4 header in the second half of a GRH, as RFC 791 lays it out. */
export interface Ipv4Header {
  /** Header length in 32-bit words; 5 without options. */
  readonly ihl: number;
  /** Type of service: DSCP and ECN. It becomes the traffic class of the reply. */
  readonly tos: number;
  /** Length of the packet in bytes, from the IPv4 header on. */
  readonly totalLength: number;
  /** Identification, for reassembly. */
  readonly identification: number;
  /** Time to live as received. */
  readonly ttl: number;
  /** Protocol behind it; 17 is UDP. */
  readonly protocol: number;
  /** Header checksum; some hardware leaves it 0. */
  readonly checksum: number;
  /** Sender, as in `10.0.0.1`. */
  readonly saddr: string;
  /** Receiver, as in `10.0.0.2`. */
  readonly daddr: string;
}

/** The bytes of a GRH, not copied. */
export let grhView: (grh: Grh) => DataView<ArrayBuffer>;

/**
 * A Global Routing Header (`struct ibv_grh`): the first 40 bytes of the buffer that a UD receive was written to. Over
 * InfiniBand, RoCE v1 and RoCE v2 on IPv6 it is the header's 40 bytes. Over RoCE v2 on IPv4 the IPv4 header sits at
 * byte 20, and the bytes before it are undefined: {@linkcode Grh.ipVersion} tells, and {@linkcode Grh.ipv4} reads it.
 * Numbers are in host order.
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
 */
export class Grh {
  /** Size in bytes: what a UD receive buffer must have before its payload. */
  static readonly SIZE: number = SIZE;

  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;

  static {
    grhView = (grh) => grh.#view;
  }

  /**
   * Copies the first 40 bytes.
   *
   * @throws {RangeError} If there are fewer.
   */
  constructor(bytes: Uint8Array) {
    if (bytes.length < SIZE) {
      throw new RangeError(
        `Cannot read GRH: it takes ${SIZE} bytes, and there are ${bytes.length}`,
      );
    }
    this.#bytes = new Uint8Array(SIZE);
    this.#bytes.set(bytes.subarray(0, SIZE));
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** A copy of the 40 bytes as received. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice();
  }

  /**
   * Which header the bytes hold, by the rule of `ibv_init_ah_from_wc`: 4 or 6, or undefined where they are neither.
   * When the first byte looks like IPv6 and the second half like IPv4, a right IPv4 checksum decides.
   */
  get ipVersion(): 4 | 6 | undefined {
    const looksLikeIpv6 = this.#bytes[0]! >> 4 === 6;
    if (!looksLikeIpv6) return this.#bytes[IPV4_AT]! >> 4 === 4 ? 4 : undefined;
    if (this.ipv4.ihl !== 5) return 6;
    return hasIpv4Checksum(this.#view) ? 4 : 6;
  }

  /** The first 32 bits: 4 of version, 8 of traffic class, 20 of flow label. */
  get versionTclassFlow(): number {
    return readField(this.#view, fields.version_tclass_flow);
  }

  /** Traffic class of the IPv6 form. */
  get trafficClass(): number {
    return this.versionTclassFlow >>> 20 & 0xff;
  }

  /** Flow label of the IPv6 form, 20 bits. */
  get flowLabel(): number {
    return this.versionTclassFlow & 0xf_ffff;
  }

  /** Payload length in bytes of the IPv6 form. */
  get paylen(): number {
    return readField(this.#view, fields.paylen);
  }

  /** What follows the header of the IPv6 form: 17 is UDP (RoCE v2), 27 the InfiniBand BTH (InfiniBand, RoCE v1). */
  get nextHdr(): number {
    return readField(this.#view, fields.next_hdr);
  }

  /** Hop limit of the IPv6 form as received. */
  get hopLimit(): number {
    return readField(this.#view, fields.hop_limit);
  }

  /** The sender, of either form. */
  get sgid(): Gid {
    return this.ipVersion === 4 ? Gid.parse(this.ipv4.saddr) : this.#gid(fields.sgid);
  }

  /** The receiver, of either form. */
  get dgid(): Gid {
    return this.ipVersion === 4 ? Gid.parse(this.ipv4.daddr) : this.#gid(fields.dgid);
  }

  #gid({ offset, size }: { offset: number; size: number }): Gid {
    return new Gid(this.#bytes.subarray(offset, offset + size));
  }

  /** The second half read as an IPv4 header; meaningful where {@linkcode Grh.ipVersion} is 4. */
  get ipv4(): Ipv4Header {
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

/**
 * Whether the second half of a GRH has the checksum that `ibv_init_ah_from_wc` computes. It sums in host order and
 * folds once, so that where the fold carries it misses the checksum of RFC 1071; the answer must be the same here.
 */
export function hasIpv4Checksum(grh: DataView, base = 0): boolean {
  let sum = 0;
  for (let at = base + IPV4_AT; at < base + SIZE; at += 2) sum += grh.getUint16(at, true);
  const checksum = grh.getUint16(base + CHECKSUM_AT, true);
  sum -= checksum;
  return (~((sum & 0xffff) + (sum >>> 16)) & 0xffff) === checksum;
}
