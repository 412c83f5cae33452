import { Grh, WcFlags, type WorkCompletions } from "../../mod.ts";
import { UdPeer } from "./ud_peer.ts";

/** The words of a GRH. */
const WORDS = Grh.SIZE / 4;
/** The first word of the IPv4 header that a GRH may contain. */
const IPV4 = 5;

/**
 * The words of a GRH that differ between packets of one sender to one receiver, with the bits that do not (big-endian):
 * the length of the payload, and for IPv4 the total length, the identification and the checksum.
 */
const IPV6_MASKS: readonly number[] = masks({ 1: 0x0000_ffff });
const IPV4_MASKS: readonly number[] = masks({
  [IPV4]: 0xffff_0000,
  [IPV4 + 1]: 0,
  [IPV4 + 2]: 0xffff_0000,
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

  /** The sender of a datagram whose GRH is at that offset of the memory. */
  get(batch: WorkCompletions, index: number, memory: DataView, offset: number): UdPeer {
    const key = this.#read(batch, index, memory, offset);
    const known = this.#entries.get(key);
    if (known !== undefined && this.#equals(known.words)) return known.peer;
    const { buffer, byteOffset } = memory;
    const grh = new Grh(new Uint8Array(buffer as ArrayBuffer, byteOffset + offset, Grh.SIZE));
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
  #read(batch: WorkCompletions, index: number, memory: DataView, offset: number): number {
    const words = this.#words;
    const flags = batch.wcFlags(index) & WcFlags.GRH;
    words[WORDS] = batch.srcQp(index);
    words[WORDS + 1] = batch.slid(index) << 16 | batch.sl(index) << 8 | batch.dlidPathBits(index);
    words[WORDS + 2] = flags;
    if (flags === 0) words.fill(0, 0, WORDS);
    else {
      const isIpv6 = memory.getUint8(offset) >> 4 === 6;
      const bits = isIpv6 ? IPV6_MASKS : IPV4_MASKS;
      const first = isIpv6 ? 0 : IPV4;
      words.fill(0, 0, first);
      for (let i = first; i < WORDS; i++) words[i] = memory.getUint32(offset + 4 * i) & bits[i]!;
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
