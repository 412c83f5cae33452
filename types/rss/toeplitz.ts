import { textOf } from "../../internal/texts.ts";
import { byteArray, copyOfBytes, integer } from "../../internal/checks.ts";

/** Each input bit selects 32 bits of the key, from its own position on. */
const WINDOW_BYTES = 4;

/**
 * The Toeplitz hash of an input, as NICs compute it for RSS. For each bit that is set in the input, take the 32 bits of the
 * key that begin at the same position; the hash is the exclusive-or of them. `ToeplitzKey` is faster for many
 * inputs and one key.
 *
 * @example The published value for 66.9.149.187:2794 to 161.142.100.80:1766
 * ```ts
 * import { microsoftRssKey, toeplitz } from "@rdma/ibverbs/rss";
 * import { assertEquals } from "@std/assert";
 *
 * const input = new Uint8Array([66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6]);
 * assertEquals(toeplitz(microsoftRssKey(), input), 0x51ccc178);
 * ```
 *
 * @param key The secret key. It is at least 4 bytes longer than the input; most NICs have 40 bytes.
 * @param input The hash input, in network byte order.
 * @returns The hash, an unsigned 32-bit integer.
 * @throws {RangeError} If the key is too short for the input.
 * @category Receive work queues and RSS
 */
export function toeplitz(key: Uint8Array, input: Uint8Array): number {
  requireKey(byteArray(key, "key").length, byteArray(input, "input").length);
  let hash = 0;
  for (let i = 0; i < input.length; i++) {
    for (let bit = 0; bit < 8; bit++) {
      if (input[i]! & 0x80 >> bit) hash ^= keyWindow(key, i, bit);
    }
  }
  return hash >>> 0;
}

/**
 * A Toeplitz key that is prepared for many hashes. It needs 1 KiB of tables for each byte of input.
 *
 * @example The published value for 66.9.149.187 to 161.142.100.80
 * ```ts
 * import { microsoftRssKey, ToeplitzKey } from "@rdma/ibverbs/rss";
 * import { assertEquals } from "@std/assert";
 *
 * const key = new ToeplitzKey(microsoftRssKey());
 * const input = new Uint8Array([66, 9, 149, 187, 161, 142, 100, 80]);
 * assertEquals(key.hash(input), 0x323e8fc2);
 * ```
 *
 * @category Receive work queues and RSS
 */
export class ToeplitzKey {
  /** Length of the longest input that the key can hash, in bytes: the length of the key minus 4. */
  readonly maxInput: number;
  /** The hash of each byte value at each position. The hash of an input is the exclusive-or of those of its bytes. */
  readonly #tables: Int32Array;

  /**
   * Prepares a key.
   *
   * @param key The secret key, at least 4 bytes. It is copied.
   * @throws {RangeError} If the key has fewer than 4 bytes.
   */
  constructor(key: Uint8Array) {
    const bytes = copyOfBytes(key, "key");
    requireKey(bytes.length, 0);
    this.maxInput = bytes.length - WINDOW_BYTES;
    this.#tables = new Int32Array(this.maxInput << 8);
    for (let place = 0; place < this.maxInput; place++) {
      fillTable(this.#tables.subarray(place << 8, (place + 1) << 8), bytes, place);
    }
  }

  /**
   * Hashes the first `length` bytes of an input, as `toeplitz` does. It allocates nothing.
   *
   * @param input The hash input, in network byte order.
   * @param length The number of bytes to hash. The default is all.
   * @returns The hash, an unsigned 32-bit integer.
   * @throws {RangeError} If the length is larger than `ToeplitzKey.maxInput` or than the input.
   */
  hash(input: Uint8Array, length: number = input.length): number {
    // The general check takes longer than the hash.
    byteArray(input, "input");
    if (typeof length !== "number") integer(length, "length", 0, input.length);
    requireKey(this.maxInput + WINDOW_BYTES, length);
    if (!(length >= 0 && length <= input.length)) {
      throw new RangeError(`Cannot hash ${length} bytes: the input has ${input.length}`);
    }
    const tables = this.#tables;
    let hash = 0;
    for (let i = 0; i < length; i++) hash ^= tables[i << 8 | input[i]!]!;
    return hash >>> 0;
  }

  /** The longest input, on one line. The key is secret. */
  toString(): string {
    return textOf("ToeplitzKey", { maxInput: this.maxInput });
  }

  /** The same for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

const MICROSOFT_KEY =
  "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa";

/**
 * The key of Microsoft's RSS verification suite, which many drivers and tools use by default.
 *
 * @returns A new array of 40 bytes.
 * @category Receive work queues and RSS
 */
export function microsoftRssKey(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(MICROSOFT_KEY.match(/../g)!, (byte) => parseInt(byte, 16));
}

function requireKey(keyLength: number, inputLength: number): void {
  const needed = inputLength + WINDOW_BYTES;
  if (keyLength >= needed) return;
  throw new RangeError(
    `Cannot hash ${inputLength} bytes: the key has ${keyLength} bytes, ${needed} are needed`,
  );
}

/** The 32 bits of the key that start at a bit of a byte. Bit 0 is the most significant bit. */
function keyWindow(key: Uint8Array, byte: number, bit: number): number {
  const high = key[byte]! << 24 | key[byte + 1]! << 16 | key[byte + 2]! << 8 | key[byte + 3]!;
  return high << bit | key[byte + WINDOW_BYTES]! >> (8 - bit);
}

/** A value without its lowest set bit is smaller: its hash is in the table already. */
function fillTable(table: Int32Array, key: Uint8Array, place: number): void {
  for (let value = 1; value < 256; value++) {
    const lowest = 31 - Math.clz32(value & -value);
    table[value] = table[value & (value - 1)]! ^ keyWindow(key, place, 7 - lowest);
  }
}
