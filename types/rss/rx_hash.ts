/**
 * How receive side scaling (RSS) hashes packets.
 *
 * @module
 */

import { enums, structs } from "../../ffi/layout.ts";
import { addressOf } from "../../ffi/memory.ts";
import { writeField } from "../../ffi/struct.ts";
import { type Members, members } from "../core/enums.ts";
import { MAX_RSS_INPUT, type RssFlow, type RssInputOptions, writeRssInput } from "./rss_flow.ts";
import { ToeplitzKey } from "./toeplitz.ts";
import { integer, uint8 } from "../core/checks.ts";

/**
 * Hash functions (`enum ibv_rx_hash_function_flags`).
 *
 * - `TOEPLITZ`: {@linkcode toeplitz}
 */
export const RxHashFunction: Members<
  typeof enums.ibv_rx_hash_function_flags,
  "IBV_RX_HASH_FUNC_"
> = members(enums.ibv_rx_hash_function_flags, "IBV_RX_HASH_FUNC_");
/** A value of {@linkcode RxHashFunction}. */
export type RxHashFunction = typeof RxHashFunction[keyof typeof RxHashFunction];

/**
 * What of a packet is hashed (`enum ibv_rx_hash_fields`), to be combined with `|`.
 *
 * - `SRC_IPV4`, `DST_IPV4`: source and destination address of IPv4 packets
 * - `SRC_IPV6`, `DST_IPV6`: of IPv6 packets
 * - `SRC_PORT_TCP`, `DST_PORT_TCP`: source and destination port of TCP packets
 * - `SRC_PORT_UDP`, `DST_PORT_UDP`: of UDP packets
 * - `IPSEC_SPI`: security parameter index of IPsec packets
 * - `INNER`: all this of the packet that the outermost one encapsulates
 */
export const RxHashFields: Members<typeof enums.ibv_rx_hash_fields, "IBV_RX_HASH_"> = members(
  enums.ibv_rx_hash_fields,
  "IBV_RX_HASH_",
);

/** How packets are to be hashed (`struct ibv_rx_hash_conf`). */
export interface RxHashInit {
  /** Hash function; `TOEPLITZ`, which is all there is, if left out. */
  readonly rxHashFunction?: RxHashFunction;
  /** Key, up to 255 bytes; it is copied. Every device known takes 40 bytes and no other number. */
  readonly rxHashKey: Uint8Array;
  /**
   * {@linkcode RxHashFields}, combined; with 0 every packet hashes to 0. Devices take certain combinations only, see
   * {@linkcode rssInput}.
   */
  readonly rxHashFieldsMask: number;
}

/** Writes a `struct ibv_rx_hash_conf` into a view; its key stays where it is as long as the object lives. */
export let writeRxHash: (rxHash: RxHash, view: DataView, base: number) => void;

/**
 * How packets are hashed (`struct ibv_rx_hash_conf`), and the hash itself. It does not change, and serves any number of
 * queue pairs and predictions.
 *
 * @example The hash of a flow
 * ```ts
 * import { microsoftRssKey, RxHash, RxHashFields } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * const { SRC_IPV4, DST_IPV4 } = RxHashFields;
 * const rxHash = new RxHash({ rxHashKey: microsoftRssKey(), rxHashFieldsMask: SRC_IPV4 | DST_IPV4 });
 * const flow = { source: "66.9.149.187", destination: "161.142.100.80" };
 * assertEquals(rxHash.hash(flow), 0x323e8fc2);
 * ```
 */
export class RxHash {
  /** Hash function. */
  readonly rxHashFunction: RxHashFunction;
  /** {@linkcode RxHashFields}, combined, unsigned. */
  readonly rxHashFieldsMask: number;
  readonly #key: Uint8Array<ArrayBuffer>;
  readonly #input: Uint8Array<ArrayBuffer> = new Uint8Array(MAX_RSS_INPUT);
  #toeplitz: ToeplitzKey | undefined;

  static {
    writeRxHash = (rxHash, view, base) => rxHash.#write(view, base);
  }

  /**
   * Takes a configuration and copies its key.
   *
   * @throws {RangeError} If the key is longer than 255 bytes, or a number is out of range.
   */
  constructor(init: RxHashInit) {
    const { rxHashFunction = RxHashFunction.TOEPLITZ, rxHashKey, rxHashFieldsMask } = init;
    uint8(rxHashKey.length, "rxHashKey length");
    // not slice(), which of a Node Buffer is no copy
    this.#key = new Uint8Array(rxHashKey);
    this.rxHashFunction = uint8(rxHashFunction, "rxHashFunction") as RxHashFunction;
    // "|" makes a negative number of INNER and others
    const min = -0x8000_0000;
    this.rxHashFieldsMask = integer(rxHashFieldsMask, "rxHashFieldsMask", min, 0xffff_ffff) >>> 0;
  }

  /** The key, as a copy. */
  get rxHashKey(): Uint8Array<ArrayBuffer> {
    return this.#key.slice();
  }

  /** Whether the encapsulated packet is hashed. */
  get inner(): boolean {
    return (this.rxHashFieldsMask & RxHashFields.INNER) !== 0;
  }

  /**
   * The hash of a flow, as devices compute it: unsigned, 32 bits. Its lower bits select the entry of an
   * {@linkcode RwqIndirectionTable}. With {@linkcode RxHashFields}.INNER, the flow is to be that of the encapsulated
   * packet.
   *
   * @param flow The flow.
   * @param options How the device arranges what it hashes.
   * @throws {SyntaxError} If an address is not one.
   * @throws {RangeError} If the addresses are of different families, a port is out of range, the hash is over
   * `IPSEC_SPI` or by another function than Toeplitz, or the key is shorter than the hashed fields plus 4 bytes.
   * @throws {TypeError} If a selected port is missing.
   */
  hash(flow: RssFlow, options?: RssInputOptions): number {
    const key = this.#toeplitz ??= this.#prepare();
    return key.hash(this.#input, writeRssInput(this.#input, flow, this.rxHashFieldsMask, options));
  }

  #write(view: DataView, base: number): void {
    const { fields } = structs.ibv_rx_hash_conf;
    writeField(view, fields.rx_hash_function, this.rxHashFunction, base);
    writeField(view, fields.rx_hash_key_len, this.#key.length, base);
    writeField(view, fields.rx_hash_key, addressOf(this.#key), base);
    writeField(view, fields.rx_hash_fields_mask, this.rxHashFieldsMask, base);
  }

  #prepare(): ToeplitzKey {
    if (this.rxHashFunction !== RxHashFunction.TOEPLITZ) {
      throw new RangeError(`Cannot predict a hash by function ${this.rxHashFunction}`);
    }
    return new ToeplitzKey(this.#key);
  }
}
