/**
 * A hash of peers' addresses: eight words, most of which peers choose. It is multilinear: each 16-bit digit is multiplied
 * by a random factor, and the upper bits of the sum count. Two different addresses collide with a probability of about one
 * to the number of buckets, however they are chosen, so nobody can make many of them fall into one bucket.
 */
export class PeerHash {
  readonly #factors: Int32Array<ArrayBuffer> = crypto.getRandomValues(new Int32Array(16));
  readonly #shift: number;

  /** Makes a hash of so many bits, 1 to 31. */
  constructor(bits: number) {
    this.#shift = 32 - bits;
  }

  /** The hash of the eight words that start at an index. */
  of(key: Uint32Array, at: number): number {
    // Written out: a loop takes twice as long.
    const factors = this.#factors;
    const a = key[at]!;
    const b = key[at + 1]!;
    const c = key[at + 2]!;
    const d = key[at + 3]!;
    const e = key[at + 4]!;
    const f = key[at + 5]!;
    const g = key[at + 6]!;
    const h = key[at + 7]!;
    const sum = Math.imul(factors[0]!, a & 0xffff) + Math.imul(factors[1]!, a >>> 16) +
      Math.imul(factors[2]!, b & 0xffff) + Math.imul(factors[3]!, b >>> 16) +
      Math.imul(factors[4]!, c & 0xffff) + Math.imul(factors[5]!, c >>> 16) +
      Math.imul(factors[6]!, d & 0xffff) + Math.imul(factors[7]!, d >>> 16) +
      Math.imul(factors[8]!, e & 0xffff) + Math.imul(factors[9]!, e >>> 16) +
      Math.imul(factors[10]!, f & 0xffff) + Math.imul(factors[11]!, f >>> 16) +
      Math.imul(factors[12]!, g & 0xffff) + Math.imul(factors[13]!, g >>> 16) +
      Math.imul(factors[14]!, h & 0xffff) + Math.imul(factors[15]!, h >>> 16);
    return (sum | 0) >>> this.#shift;
  }
}
