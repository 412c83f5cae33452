import { textOf } from "../../internal/texts.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { copyOfBytes, integer, snapshot, uint8 } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { MAX_RSS_INPUT, type RssFlow, type RssInputOptions, writeRssInput } from "./rss_flow.ts";
import { nameOf, namesOf } from "../core/enums.ts";
import { ToeplitzKey } from "./toeplitz.ts";

/**
 * Hash functions (`enum ibv_rx_hash_function_flags`).
 *
 * @category Receive work queues and RSS
 */
export const RxHashFunction: {
  /** The Toeplitz hash of `@rdma/ibverbs/rss`. */
  readonly TOEPLITZ: CEnum.ibv_rx_hash_function_flags.IBV_RX_HASH_FUNC_TOEPLITZ;
} = members("ibv_rx_hash_function_flags", "IBV_RX_HASH_FUNC_");
/**
 * A value of `RxHashFunction`.
 *
 * @category Receive work queues and RSS
 */
export type RxHashFunction = typeof RxHashFunction[keyof typeof RxHashFunction];

/**
 * The parts of a packet that are hashed (`enum ibv_rx_hash_fields`). Combine them with `|`.
 *
 * @category Receive work queues and RSS
 */
export const RxHashFields: {
  /** The source address of IPv4 packets. */
  readonly SRC_IPV4: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_SRC_IPV4;
  /** The destination address of IPv4 packets. */
  readonly DST_IPV4: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_DST_IPV4;
  /** The source address of IPv6 packets. */
  readonly SRC_IPV6: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_SRC_IPV6;
  /** The destination address of IPv6 packets. */
  readonly DST_IPV6: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_DST_IPV6;
  /** The source port of TCP packets. */
  readonly SRC_PORT_TCP: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_SRC_PORT_TCP;
  /** The destination port of TCP packets. */
  readonly DST_PORT_TCP: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_DST_PORT_TCP;
  /** The source port of UDP packets. */
  readonly SRC_PORT_UDP: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_SRC_PORT_UDP;
  /** The destination port of UDP packets. */
  readonly DST_PORT_UDP: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_DST_PORT_UDP;
  /** The security parameter index of IPsec packets. */
  readonly IPSEC_SPI: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_IPSEC_SPI;
  /** Hashes the parts of the encapsulated packet instead of those of the outermost one. */
  readonly INNER: CEnum.ibv_rx_hash_fields.IBV_RX_HASH_INNER;
} = members("ibv_rx_hash_fields", "IBV_RX_HASH_");

/**
 * How a queue pair hashes packets (`struct ibv_rx_hash_conf`).
 *
 * @category Receive work queues and RSS
 */
export interface RxHashInit {
  /** Hash function. The default is `TOEPLITZ`, the only one that `verbs.h` has. */
  readonly rxHashFunction?: RxHashFunction | undefined;
  /** Secret key, 0 to 255 bytes. It is copied. All known devices need 40 bytes. */
  readonly rxHashKey: Uint8Array;
  /**
   * `RxHashFields`, combined with `|`. With 0 every packet has hash 0. Devices support certain combinations
   * only, see `rssInput()` of `@rdma/ibverbs/rss`.
   */
  readonly rxHashFieldsMask: number;
}

/** The part of a hash that C reads. */
export type NativeRxHash = Pick<RxHash, "rxHashFunction" | "rxHashKey" | "rxHashFieldsMask">;

/** The codec of `struct ibv_rx_hash_conf`. */
export const rxHashCodec: AttributeCodec<NativeRxHash, object, { rxHashKeyLen: number }> = codecOf(
  "ibv_rx_hash_conf",
  "hash",
  {
    rxHashFunction: {},
    rxHashKeyLen: { own: true, derive: ({ rxHashKey }) => (rxHashKey as Uint8Array).length },
    rxHashKey: { pointer: true },
    rxHashFieldsMask: { bits: 32 },
  },
);

/**
 * How queue pairs hash packets (`struct ibv_rx_hash_conf`), and the computation of such hashes. The object is immutable:
 * any number of queue pairs and predictions can use it.
 *
 * @example The hash of a flow
 * ```ts
 * import { microsoftRssKey, RxHash, RxHashFields } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * const { SRC_IPV4, DST_IPV4 } = RxHashFields;
 * const rxHash = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
 * const flow = { srcIp: "66.9.149.187", dstIp: "161.142.100.80" };
 * assertEquals(rxHash.hash(flow), 0x323e8fc2);
 * ```
 *
 * @category Receive work queues and RSS
 */
export class RxHash {
  /** Hash function. */
  readonly rxHashFunction: RxHashFunction;
  /** `RxHashFields`, combined. It is unsigned. */
  readonly rxHashFieldsMask: number;
  readonly #key: Uint8Array<ArrayBuffer>;
  readonly #input: Uint8Array<ArrayBuffer> = new Uint8Array(MAX_RSS_INPUT);
  #toeplitz: ToeplitzKey | undefined;

  /**
   * Makes a hash and copies its key.
   *
   * @throws {RangeError} If the key is longer than 255 bytes, or a number is out of range.
   */
  constructor(conf: RxHashInit) {
    const { rxHashFunction = RxHashFunction.TOEPLITZ, rxHashKey, rxHashFieldsMask } = snapshot(
      conf,
      "hash",
      ["rxHashFunction", "rxHashKey", "rxHashFieldsMask"],
    );
    // A copy by `slice()` would share the memory of a Node Buffer.
    this.#key = copyOfBytes(rxHashKey, "rxHashKey");
    uint8(this.#key.length, "rxHashKey length");
    this.rxHashFunction = uint8(rxHashFunction, "rxHashFunction") as RxHashFunction;
    // `|` gives a negative number if INNER is among the fields.
    const min = -0x8000_0000;
    this.rxHashFieldsMask = integer(rxHashFieldsMask, "rxHashFieldsMask", min, 0xffff_ffff) >>> 0;
  }

  /** A copy of the key. */
  get rxHashKey(): Uint8Array<ArrayBuffer> {
    return this.#key.slice();
  }

  /** Whether the encapsulated packet is hashed. */
  get inner(): boolean {
    return (this.rxHashFieldsMask & RxHashFields.INNER) !== 0;
  }

  /**
   * The hash of a flow, as devices compute it: unsigned, 32 bits. Its lower bits select the entry of an
   * `RwqIndirectionTable`. With `RxHashFields`.INNER, pass the flow of the encapsulated packet.
   *
   * @throws {SyntaxError} If a text is not an IP address.
   * @throws {RangeError} If the addresses are of different families, a port is out of range, the fields include
   * `IPSEC_SPI`, the function is not Toeplitz, or the key is not at least 4 bytes longer than the hash input.
   * @throws {TypeError} If a selected port is missing.
   */
  hash(flow: RssFlow, options?: RssInputOptions): number {
    const key = this.#toeplitz ??= this.#prepare();
    return key.hash(this.#input, writeRssInput(this.#input, flow, this.rxHashFieldsMask, options));
  }

  #prepare(): ToeplitzKey {
    if (this.rxHashFunction !== RxHashFunction.TOEPLITZ) {
      throw new RangeError(`Cannot predict a hash by function ${this.rxHashFunction}`);
    }
    return new ToeplitzKey(this.#key);
  }

  /** The function and the fields, on one line. The key is secret. */
  toString(): string {
    return textOf("RxHash", {
      rxHashFunction: nameOf(RxHashFunction, this.rxHashFunction),
      rxHashFieldsMask: namesOf(RxHashFields, this.rxHashFieldsMask),
    });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}
