import { PeerHash } from "./peer_hash.ts";

/** The number of words of a key: `struct ibv_ah_attr` has as many. */
const WORDS = 8;
const NONE = -1;

/**
 * Maps the addresses of peers, in native layout, to values. It holds a fixed number of peers and forgets the least
 * recently used one. Finding and adding take the same time for any number of peers, and finding allocates nothing.
 */
export class PeerCache<T> {
  readonly #capacity: number;
  readonly #keys: Uint32Array<ArrayBuffer>;
  readonly #values: (T | undefined)[];
  /** The first entry of each chain, and the next entry after each entry. */
  readonly #heads: Int32Array<ArrayBuffer>;
  readonly #next: Int32Array<ArrayBuffer>;
  /**
   * A ring of the entries in order of their last use: the next newer and the next older entry of each one. One more entry,
   * the last, closes the ring: its newer neighbour is the oldest entry, its older neighbour is the newest entry.
   */
  readonly #order: Int32Array<ArrayBuffer>;
  readonly #hash: PeerHash;
  #size = 0;

  /** Makes room for `capacity` peers, at least 1. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#keys = new Uint32Array(capacity * WORDS);
    this.#values = new Array<T | undefined>(capacity).fill(undefined);
    const bits = Math.ceil(Math.log2(2 * capacity));
    this.#hash = new PeerHash(bits);
    this.#heads = new Int32Array(2 ** bits).fill(NONE);
    this.#next = new Int32Array(capacity);
    this.#order = new Int32Array(2 * (capacity + 1));
    this.#closeRing();
  }

  /** The number of peers it holds. */
  get size(): number {
    return this.#size;
  }

  /** The value of a peer, which becomes the most recently used one. */
  find(key: Uint32Array): T | undefined {
    const entry = this.#entry(key, this.#hash.of(key, 0));
    if (entry === NONE) return undefined;
    if (entry !== this.#order[2 * this.#capacity + 1]) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    return this.#values[entry];
  }

  /** Adds a peer, or replaces its value. Returns the value that was replaced, or that of the peer it forgets. */
  set(key: Uint32Array, value: T): T | undefined {
    const bucket = this.#hash.of(key, 0);
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

  /** Forgets all peers. Returns their values, the least recently used one first. */
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

  /** Removes an entry from its chain and from the ring. */
  #remove(entry: number): T | undefined {
    const bucket = this.#hash.of(this.#keys, entry * WORDS);
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
