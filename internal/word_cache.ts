const { imul } = Math;

/** An entry has 2^4 words, a line of the processor's cache. */
const BITS = 4;
/** The words of an entry behind its key: the next entry of its chain, and the next newer and the next older entry. */
const NEXT = 2 ** BITS - 3;
const NEWER = NEXT + 1;
const OLDER = NEXT + 2;
/** The words of a `struct ibv_ah_attr`. */
const WORDS = 8;
const NONE = 0xffff_ffff;

/**
 * Maps keys of several words, such as a `struct ibv_ah_attr`, to values. It holds a fixed number of keys and drops the
 * least recently used one. Finding and adding take the same time for any number of keys, and finding allocates nothing.
 *
 * A plain hash of the key comes first: it points to the entry that was found last for it. Peers may choose addresses that
 * share this hint. Then a keyed hash, which they cannot attack, finds the entry.
 */
export class WordCache<T> {
  readonly #capacity: number;
  readonly #values: (T | undefined)[];
  /**
   * The entries. They form a ring in order of their last use. One more entry, the last, closes the ring: its newer
   * neighbour is the oldest entry, its older neighbour is the newest entry.
   */
  readonly #entries: Uint32Array<ArrayBuffer>;
  readonly #heads: Uint32Array<ArrayBuffer>;
  /** The entry that was found last for each plain hash. */
  readonly #hints: Uint32Array<ArrayBuffer>;
  readonly #shift: number;
  readonly #hash: WordHash;
  /** Whether keys are longer than an address. Short keys skip the rest. */
  readonly #isLong: boolean;
  #size = 0;

  /** Makes room for `capacity` keys, at least 1, of 8 to 13 words. */
  constructor(capacity: number, words: number = WORDS) {
    this.#isLong = words > WORDS;
    this.#capacity = capacity;
    this.#values = new Array<T | undefined>(capacity).fill(undefined);
    this.#entries = new Uint32Array(capacity + 1 << BITS);
    const bits = Math.ceil(Math.log2(2 * capacity));
    this.#hash = new WordHash(bits, words);
    this.#shift = 32 - bits;
    this.#heads = new Uint32Array(2 ** bits).fill(NONE);
    this.#hints = new Uint32Array(2 ** bits).fill(NONE);
    this.#closeRing();
  }

  get size(): number {
    return this.#size;
  }

  /** The value of a key, which becomes the most recently used one. */
  find(key: Uint32Array): T | undefined {
    // Branches for longer keys within this function cost 3 of the 88 ns of an answer to a known peer.
    if (this.#isLong) return this.#findLong(key);
    const hint = hintOf(key) >>> this.#shift;
    const entry = this.#hints[hint]!;
    const isHinted = entry !== NONE && startsWith(this.#entries, entry << BITS, key);
    return isHinted ? this.#useValue(entry) : this.#findByHash(key, hint);
  }

  #findLong(key: Uint32Array): T | undefined {
    const hint = sumOfRest(hintOf(key), key) >>> this.#shift;
    const entry = this.#hints[hint]!;
    const isHinted = entry !== NONE && this.#matches(entry, key);
    return isHinted ? this.#useValue(entry) : this.#findByHash(key, hint);
  }

  #findByHash(key: Uint32Array, hint: number): T | undefined {
    const entry = this.#entry(key, this.#hash.of(key, 0));
    if (entry === NONE) return undefined;
    this.#hints[hint] = entry;
    return this.#useValue(entry);
  }

  #useValue(entry: number): T | undefined {
    this.#use(entry);
    return this.#values[entry];
  }

  /** Adds a key, or replaces its value. Returns the value that was replaced, or that of the key it forgets. */
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
    this.#entries.set(key, entry << BITS);
    this.#values[entry] = value;
    this.#entries[(entry << BITS) + NEXT] = this.#heads[bucket]!;
    this.#heads[bucket] = entry;
    this.#linkNewest(entry);
    return evicted;
  }

  /** Forgets all keys. Returns their values, the least recently used one first. */
  takeAll(): T[] {
    const values: T[] = [];
    const entries = this.#entries;
    for (let entry = this.#oldest; entry !== this.#capacity;) {
      values.push(this.#values[entry]!);
      entry = entries[(entry << BITS) + NEWER]!;
    }
    this.#values.fill(undefined);
    this.#heads.fill(NONE);
    this.#hints.fill(NONE);
    this.#closeRing();
    this.#size = 0;
    return values;
  }

  #entry(key: Uint32Array, bucket: number): number {
    let entry = this.#heads[bucket]!;
    while (entry !== NONE && !this.#matches(entry, key)) {
      entry = this.#entries[(entry << BITS) + NEXT]!;
    }
    return entry;
  }

  #matches(entry: number, key: Uint32Array): boolean {
    const at = entry << BITS;
    return startsWith(this.#entries, at, key) && (!this.#isLong || this.#matchesRest(at, key));
  }

  #matchesRest(at: number, key: Uint32Array): boolean {
    const entries = this.#entries;
    for (let i = WORDS; i < key.length; i++) if (entries[at + i] !== key[i]) return false;
    return true;
  }

  /** Removes an entry from its chain and from the ring. */
  #remove(entry: number): T | undefined {
    const bucket = this.#hash.of(this.#entries, entry << BITS);
    let link = this.#heads;
    let at = bucket;
    while (link[at] !== entry) {
      at = (link[at]! << BITS) + NEXT;
      link = this.#entries;
    }
    link[at] = this.#entries[(entry << BITS) + NEXT]!;
    this.#unlink(entry);
    return this.#values[entry];
  }

  get #oldest(): number {
    return this.#entries[(this.#capacity << BITS) + NEWER]!;
  }

  #closeRing(): void {
    this.#entries[(this.#capacity << BITS) + NEWER] = this.#capacity;
    this.#entries[(this.#capacity << BITS) + OLDER] = this.#capacity;
  }

  #use(entry: number): void {
    if (entry === this.#entries[(this.#capacity << BITS) + OLDER]) return;
    this.#unlink(entry);
    this.#linkNewest(entry);
  }

  #unlink(entry: number): void {
    const entries = this.#entries;
    const newer = entries[(entry << BITS) + NEWER]!;
    const older = entries[(entry << BITS) + OLDER]!;
    entries[(newer << BITS) + OLDER] = older;
    entries[(older << BITS) + NEWER] = newer;
  }

  #linkNewest(entry: number): void {
    const entries = this.#entries;
    const end = this.#capacity;
    const before = entries[(end << BITS) + OLDER]!;
    entries[(entry << BITS) + NEWER] = end;
    entries[(entry << BITS) + OLDER] = before;
    entries[(before << BITS) + NEWER] = entry;
    entries[(end << BITS) + OLDER] = entry;
  }
}

/** A plain hash of the first words of a key, which are weighed by how much the addresses of peers differ in them. */
function hintOf(key: Uint32Array): number {
  return imul(key[3]!, 0x9e37_79b1) + imul(key[2]! ^ key[6]!, 0x85eb_ca77) +
      imul(key[0]! ^ key[1]! ^ key[4]!, 0xc2b2_ae3d) | 0;
}

/** Whether an entry begins with the first words of a key. */
function startsWith(entries: Uint32Array, at: number, key: Uint32Array): boolean {
  return entries[at + 3] === key[3] && entries[at + 2] === key[2] && entries[at + 1] === key[1] &&
    entries[at] === key[0] && entries[at + 4] === key[4] && entries[at + 5] === key[5] &&
    entries[at + 6] === key[6] && entries[at + 7] === key[7];
}

/** Adds the words of a sender to a hint: its GID or its IPv4 address, and the queue pair. */
function sumOfRest(sum: number, key: Uint32Array): number {
  return sum + imul(key[5]! ^ key[8]!, 0x27d4_eb2f) + imul(key[10]!, 0x1656_67b1) | 0;
}

/**
 * A hash of several words, most of which peers choose. Nobody who does not know its random numbers can make many keys
 * fall into one bucket.
 *
 * It is multilinear: each 16-bit digit is multiplied by a random factor. The sums of two different keys are equal with a
 * probability of at most 2^-17. The sums of a sequence of keys may still lie close together, because some factors
 * suit some sequences badly. So the sum is mixed before its upper bits count, and starts at a random number, which hides
 * what is mixed.
 */
export class WordHash {
  /** The factors, then the number at which the sum starts. */
  readonly #factors: Int32Array<ArrayBuffer>;
  readonly #words: number;
  readonly #shift: number;

  /** Makes a hash of `bits` bits, 1 to 31, over `words` words. */
  constructor(bits: number, words: number = WORDS) {
    this.#factors = crypto.getRandomValues(new Int32Array(2 * words + 1));
    this.#words = words;
    this.#shift = 32 - bits;
  }

  /** The hash of the words that start at an index. */
  of(key: Uint32Array, at: number): number {
    const factors = this.#factors;
    const words = this.#words;
    let sum = factors[2 * words]!;
    for (let i = 0; i < words; i++) {
      const word = key[at + i]!;
      sum += imul(factors[2 * i]!, word & 0xffff) + imul(factors[2 * i + 1]!, word >>> 16) | 0;
    }
    return mix(sum | 0) >>> this.#shift;
  }
}

/** Makes each of the upper bits depend on all bits. Different sums stay different. */
function mix(sum: number): number {
  const once = imul(sum ^ sum >>> 15, 0x2c1b_3c6d);
  return imul(once ^ once >>> 12, 0x297a_2d39);
}
