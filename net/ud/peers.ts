import { Gid, Grh, WcFlags, type WorkCompletion, type WorkCompletions } from "../../mod.ts";
import { readUdAddress, type Target, type UdAddress } from "./ud_address.ts";

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
const IPV6_MASKS = masks(0, { 1: 0xffff_0000 });
const IPV4_MASKS = masks(IPV4, { [IPV4]: 0x0000_ffff, [IPV4 + 1]: 0, [IPV4 + 2]: 0x0000_ffff });
const NO_GRH = masks(WORDS, {});

function masks(first: number, special: Record<number, number>): Uint32Array {
  return Uint32Array.from({ length: WORDS }, (_, i) => i < first ? 0 : special[i] ?? 0xffff_ffff);
}

interface Sender {
  /** It is frozen. */
  readonly address: UdAddress;
  /** The masked words of the GRH, and those of the completion. */
  readonly words: Uint32Array<ArrayBuffer>;
}

/**
 * The peers of a connection: the senders of datagrams, and addresses that the caller named. A datagram of a known sender
 * gets the same address object again, so it allocates nothing and its address handle is known. Senders choose their
 * addresses, so their number is limited; the oldest one goes first.
 */
export class Peers {
  readonly #qkey: number;
  readonly #max: number;
  readonly #senders: Map<number, Sender> = new Map();
  /** By the addresses of senders, and those that the caller named, while the caller has them. */
  readonly #targets: WeakMap<UdAddress, Target> = new WeakMap();
  /** By the text of addresses that the caller named. */
  readonly #named: Map<string, Target> = new Map();
  /** The words of the datagram that is looked up. */
  readonly #words: Uint32Array<ArrayBuffer> = new Uint32Array(WORDS + 3);

  /** Remembers up to `max` peers of each kind. Senders are expected to accept the qkey. */
  constructor(qkey: number, max: number) {
    this.#qkey = qkey;
    this.#max = max;
  }

  /** Reads and checks an address that a caller gives. */
  target(address: UdAddress): Target {
    const known = this.#targets.get(address);
    if (known !== undefined && (known.packet !== undefined || isSame(known, address))) return known;
    const target = this.#findNamed(readUdAddress(address));
    this.#targets.set(address, target);
    return target;
  }

  #findNamed(address: UdAddress): Target {
    const { gid, lid, qpn, qkey } = address;
    const key = `${gid} ${lid} ${qpn} ${qkey}`;
    const known = this.#named.get(key);
    if (known !== undefined) return known;
    // Text that is no GID, and can be of any length, is not kept.
    Gid.parse(gid);
    const target: Target = { ...address, packet: undefined, ah: undefined };
    addTo(this.#named, key, target, this.#max);
    return target;
  }

  /** The sender of a datagram whose GRH begins at that word of the memory. */
  sender(
    batch: WorkCompletions,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): UdAddress {
    const key = this.#read(batch, index, memory, at);
    const known = this.#senders.get(key);
    if (known !== undefined && this.#equals(known.words)) return known.address;
    const grh = new Grh(new Uint8Array(memory.buffer, memory.byteOffset + 4 * at, Grh.SIZE));
    const address = this.#addressOf(batch.at(index), grh);
    this.#senders.delete(key);
    addTo(this.#senders, key, { address, words: this.#words.slice() }, this.#max);
    return address;
  }

  #addressOf(wc: WorkCompletion, grh: Grh): UdAddress {
    const gid = (wc.wcFlags & WcFlags.GRH) === 0 ? "::" : grh.sgid.toString();
    const { slid: lid, srcQp: qpn } = wc;
    const address = Object.freeze({ transport: "UD" as const, gid, lid, qpn, qkey: this.#qkey });
    this.#targets.set(address, { ...address, packet: { wc, grh }, ah: undefined });
    return address;
  }

  /** Reads what tells senders apart. Returns its hash. */
  #read(batch: WorkCompletions, index: number, memory: Uint32Array, at: number): number {
    const words = this.#words;
    const flags = batch.wcFlags(index) & WcFlags.GRH;
    words[WORDS] = batch.srcQp(index);
    words[WORDS + 1] = batch.slid(index) << 16 | batch.sl(index) << 8 | batch.dlidPathBits(index);
    words[WORDS + 2] = flags;
    const masks = (memory[at]! & VERSION) === IPV6 ? IPV6_MASKS : IPV4_MASKS;
    const bits = flags === 0 ? NO_GRH : masks;
    for (let i = 0; i < WORDS; i++) words[i] = memory[at + i]! & bits[i]!;
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

/** Adds an entry to a map, from which the oldest one goes if there are too many. */
function addTo<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  if (map.size >= max) map.delete(map.keys().next().value!);
  map.set(key, value);
}

/** Whether the caller has not changed an address since it was read. */
function isSame(known: Target, { transport, gid, lid, qpn, qkey }: UdAddress): boolean {
  return transport === known.transport && gid === known.gid && lid === known.lid &&
    qpn === known.qpn && qkey === known.qkey;
}
