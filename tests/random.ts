/** Random numbers that are the same in every run. */
export class Random {
  #state: number;

  /** Starts the sequence of that seed. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** The next 32 bits (splitmix32). */
  uint32(): number {
    this.#state = this.#state + 0x9e37_79b9 >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ z >>> 16, 0x21f0_aaad);
    z = Math.imul(z ^ z >>> 15, 0x735a_2d97);
    return (z ^ z >>> 15) >>> 0;
  }

  /** A number from 0 to below `limit`. */
  below(limit: number): number {
    return this.uint32() % limit;
  }

  /** Whether something that happens once in `n` times does. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  /** One of the values. */
  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** That many bytes. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
