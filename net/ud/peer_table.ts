import { Grh, WcFlags, type WorkCompletions } from "../../mod.ts";
import { UdPeer } from "./ud_peer.ts";

/** The words of a GRH. */
const WORDS = Grh.SIZE / 4;
/** The first word of the IPv4 header that a GRH may contain. */
const IPV4 = 5;
/** The version in the first word, and its value if it is an IPv6 header (little-endian). */
const VERSION = 0xf0;
const IPV6 = 0x60;

/**
 * The bits of a GRH that tell senders to one receiver apart, in words as the machine reads them (little-endian). The others
 * differ between packets of one sender: the length of the payload, and for IPv4 the total length, the identification and
 * the checksum.
 */
const IPV6_MASKS: readonly number[] = masks({ 1: 0xffff_0000 });
const IPV4_MASKS: readonly number[] = masks({
  [IPV4]: 0x0000_ffff,
  [IPV4 + 1]: 0,
  [IPV4 + 2]: 0x0000_ffff,
});

function masks(special: Record<number, number>): number[] {
  return Array.from({ length: WORDS }, (_, i) => special[i] ?? 0xffff_ffff);
}

interface Entry {
  readonly peer: UdPeer;
  /** The masked words of the GRH, and those of the completion. */
  readonly words: Uint32Array<ArrayBuffer>;
}

/**
 * The senders of recent datagrams. A datagram of a known sender gets the same object again, so it allocates nothing and its
 * address handle is known. Senders choose their addresses, so the number of entries is limited; the oldest one goes first.
 */
export class PeerTable {
  readonly #owner: object;
  readonly #qkey: number;
  readonly #max: number;
  readonly #entries: Map<number, Entry> = new Map();
  /** The words of the datagram that is looked up. */
  readonly #words: Uint32Array<ArrayBuffer> = new Uint32Array(WORDS + 3);

  /** Remembers up to `max` senders. */
  constructor(owner: object, qkey: number, max: number) {
    this.#owner = owner;
    this.#qkey = qkey;
    this.#max = max;
  }

  /** The sender of a datagram whose GRH begins at that word of the memory. */
  get(batch: WorkCompletions, index: number, memory: Uint32Array<ArrayBuffer>, at: number): UdPeer {
    const key = this.#read(batch, index, memory, at);
    const known = this.#entries.get(key);
    if (known !== undefined && this.#equals(known.words)) return known.peer;
    const grh = new Grh(new Uint8Array(memory.buffer, memory.byteOffset + 4 * at, Grh.SIZE));
    const peer = new UdPeer(this.#owner, batch.at(index), grh, this.#qkey);
    this.#add(key, { peer, words: this.#words.slice() });
    return peer;
  }

  #add(key: number, entry: Entry): void {
    const entries = this.#entries;
    entries.delete(key);
    if (entries.size >= this.#max) entries.delete(entries.keys().next().value!);
    entries.set(key, entry);
  }

  /** Reads what tells senders apart. Returns its hash. */
  #read(batch: WorkCompletions, index: number, memory: Uint32Array, at: number): number {
    const words = this.#words;
    const flags = batch.wcFlags(index) & WcFlags.GRH;
    words[WORDS] = batch.srcQp(index);
    words[WORDS + 1] = batch.slid(index) << 16 | batch.sl(index) << 8 | batch.dlidPathBits(index);
    words[WORDS + 2] = flags;
    if (flags === 0) words.fill(0, 0, WORDS);
    else {
      const isIpv6 = (memory[at]! & VERSION) === IPV6;
      const bits = isIpv6 ? IPV6_MASKS : IPV4_MASKS;
      const first = isIpv6 ? 0 : IPV4;
      words.fill(0, 0, first);
      for (let i = first; i < WORDS; i++) words[i] = memory[at + i]! & bits[i]!;
    }
    let hash = 0;
    for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words[i]!, 0x9e37_79b1);
    return hash ^ hash >>> 15;
  }

  #equals(words: Uint32Array): boolean {
    const current = this.#words;
    for (let i = 0; i < current.length; i++) {
      if (words[i] !== current[i]) return false;
    }
    return true;
  }
}
