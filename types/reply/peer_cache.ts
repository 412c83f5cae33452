/** Words of a key: as many as `struct ibv_ah_attr` has. */
const WORDS = 8;
const NONE = -1;
const MULTIPLIER = 0x9e37_79b1;

/**
 * What is known of peers, by their addresses in native layout. It holds a fixed number and forgets the one that was not
 * asked for longest. Finding and adding cost the same however many there are, and finding allocates nothing.
 */
export class PeerCache<T> {
  readonly #capacity: number;
  readonly #keys: Uint32Array<ArrayBuffer>;
  readonly #values: (T | undefined)[];
  /** The first entry of each chain, and the next one of each entry. */
  readonly #heads: Int32Array<ArrayBuffer>;
  readonly #next: Int32Array<ArrayBuffer>;
  /**
   * Entries in the order they were asked for: of each the next newer one and the next older one. Behind the last stands
   * one that closes the ring: newer than it is the oldest, older the newest. So moving an entry takes no decision.
   */
  readonly #order: Int32Array<ArrayBuffer>;
  /** Peers choose parts of their keys: without knowing this they cannot make them all fall into one chain. */
  readonly #seed: number;
  #size = 0;

  /** Makes room for `capacity` peers, at least 1. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#keys = new Uint32Array(capacity * WORDS);
    this.#values = new Array<T | undefined>(capacity).fill(undefined);
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(2 * capacity))).fill(NONE);
    this.#next = new Int32Array(capacity);
    this.#order = new Int32Array(2 * (capacity + 1));
    this.#closeRing();
    this.#seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  }

  /** How many peers it holds. */
  get size(): number {
    return this.#size;
  }

  /** What is known of a peer, which now counts as the one asked for last. */
  find(key: Uint32Array): T | undefined {
    const entry = this.#entry(key, this.#bucket(key, 0));
    if (entry === NONE) return undefined;
    if (entry !== this.#order[2 * this.#capacity + 1]) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    return this.#values[entry];
  }

  /** Adds a peer, or replaces what was known of it. Returns what there was no room for any more. */
  set(key: Uint32Array, value: T): T | undefined {
    const bucket = this.#bucket(key, 0);
    const known = this.#entry(key, bucket);
    if (known !== NONE) {
      const replaced = this.#values[known];
      this.#values[known] = value;
      return replaced;
    }
    const full = this.#size === this.#capacity;
    const entry = full ? this.#oldest : this.#size++;
    const evicted = full ? this.#remove(entry) : undefined;
    this.#keys.set(key, entry * WORDS);
    this.#values[entry] = value;
    this.#next[entry] = this.#heads[bucket]!;
    this.#heads[bucket] = entry;
    this.#linkNewest(entry);
    return evicted;
  }

  /** Empties it. Returns what it held, the one asked for longest ago first. */
  takeAll(): T[] {
    const values: T[] = [];
    for (let entry = this.#oldest; entry !== this.#capacity; entry = this.#order[2 * entry]!) {
      values.push(this.#values[entry]!);
    }
    this.#values.fill(undefined);
    this.#heads.fill(NONE);
    this.#closeRing();
    this.#size = 0;
    return values;
  }

  #bucket(key: Uint32Array, at: number): number {
    // written out, as in #matches: a loop takes twice as long
    let h = Math.imul(this.#seed ^ key[at]!, MULTIPLIER) ^ key[at + 1]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 2]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 3]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 4]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 5]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 6]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER) ^ key[at + 7]!;
    h = Math.imul(h ^ h >>> 15, MULTIPLIER);
    return (h ^ h >>> 15) & this.#heads.length - 1;
  }

  #entry(key: Uint32Array, bucket: number): number {
    let entry = this.#heads[bucket]!;
    while (entry !== NONE && !this.#matches(entry, key)) entry = this.#next[entry]!;
    return entry;
  }

  #matches(entry: number, key: Uint32Array): boolean {
    const keys = this.#keys;
    const at = entry * WORDS;
    return keys[at + 3] === key[3] && keys[at + 2] === key[2] && keys[at + 1] === key[1] &&
      keys[at] === key[0] && keys[at + 4] === key[4] && keys[at + 5] === key[5] &&
      keys[at + 6] === key[6] && keys[at + 7] === key[7];
  }

  /** Takes an entry out of its chain and the order. */
  #remove(entry: number): T | undefined {
    const bucket = this.#bucket(this.#keys, entry * WORDS);
    let link = this.#heads;
    let at = bucket;
    while (link[at] !== entry) {
      at = link[at]!;
      link = this.#next;
    }
    link[at] = this.#next[entry]!;
    this.#unlink(entry);
    return this.#values[entry];
  }

  get #oldest(): number {
    return this.#order[2 * this.#capacity]!;
  }

  #closeRing(): void {
    this.#order.fill(this.#capacity, 2 * this.#capacity);
  }

  #unlink(entry: number): void {
    const order = this.#order;
    const newer = order[2 * entry]!;
    const older = order[2 * entry + 1]!;
    order[2 * newer + 1] = older;
    order[2 * older] = newer;
  }

  #linkNewest(entry: number): void {
    const order = this.#order;
    const end = this.#capacity;
    const before = order[2 * end + 1]!;
    order[2 * entry] = end;
    order[2 * entry + 1] = before;
    order[2 * before] = entry;
    order[2 * end + 1] = entry;
  }
}
