const { imul } = Math;

/** The number of factors: two digits for each of eight words. */
const FACTORS = 16;

/**
 * A hash of peers' addresses: eight words, most of which peers choose. Nobody who does not know its random numbers can make
 * many addresses fall into one bucket.
 *
 * It is multilinear: each 16-bit digit is multiplied by a random factor. The sums of two different addresses are equal with
 * a probability of at most 2^-17. The sums of a sequence of addresses may still lie close together, because some factors
 * suit some sequences badly. So the sum is mixed before its upper bits count, and starts at a random number, which hides
 * what is mixed.
 */
export class PeerHash {
  /** The factors, then the number at which the sum starts. */
  readonly #factors: Int32Array<ArrayBuffer> = crypto.getRandomValues(new Int32Array(FACTORS + 1));
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
    const sum = factors[FACTORS]! +
      imul(factors[0]!, a & 0xffff) + imul(factors[1]!, a >>> 16) +
      imul(factors[2]!, b & 0xffff) + imul(factors[3]!, b >>> 16) +
      imul(factors[4]!, c & 0xffff) + imul(factors[5]!, c >>> 16) +
      imul(factors[6]!, d & 0xffff) + imul(factors[7]!, d >>> 16) +
      imul(factors[8]!, e & 0xffff) + imul(factors[9]!, e >>> 16) +
      imul(factors[10]!, f & 0xffff) + imul(factors[11]!, f >>> 16) +
      imul(factors[12]!, g & 0xffff) + imul(factors[13]!, g >>> 16) +
      imul(factors[14]!, h & 0xffff) + imul(factors[15]!, h >>> 16);
    return mix(sum | 0) >>> this.#shift;
  }
}

/** Makes each of the upper bits depend on all bits. Different sums stay different. */
function mix(sum: number): number {
  const once = imul(sum ^ sum >>> 15, 0x2c1b_3c6d);
  return imul(once ^ once >>> 12, 0x297a_2d39);
}
