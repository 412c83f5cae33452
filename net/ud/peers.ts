import { Gid, type WorkCompletionList } from "../../mod.ts";
import { GRH_SENDERS, SENDER_WORDS, type Senders } from "./senders.ts";
import { readUdAddress, type Target, type UdAddress } from "./ud_address.ts";

interface Known {
  /** It is frozen. */
  readonly address: UdAddress;
  /** What tells the sender apart. */
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
  readonly #transport: UdAddress["transport"];
  readonly #from: Senders;
  readonly #senders: Map<number, Known> = new Map();
  /** By the addresses of senders, and those that the caller named, while the caller has them. */
  readonly #targets: WeakMap<UdAddress, Target> = new WeakMap();
  /** By the text of addresses that the caller named. */
  readonly #named: Map<string, Target> = new Map();
  /** The words of the datagram that is looked up. */
  readonly #words: Uint32Array<ArrayBuffer> = new Uint32Array(SENDER_WORDS);

  /** Remembers up to `max` peers of each kind. Senders are expected to accept the qkey. */
  constructor(
    qkey: number,
    max: number,
    from: Senders = GRH_SENDERS,
    transport: UdAddress["transport"] = "UD",
  ) {
    this.#qkey = qkey;
    this.#max = max;
    this.#from = from;
    this.#transport = transport;
  }

  /** Reads and checks an address that a caller gives. */
  target(address: UdAddress): Target {
    const known = this.#targets.get(address);
    if (known !== undefined && (known.packet !== undefined || isSame(known, address))) return known;
    const target = this.#findNamed(readUdAddress(address, this.#transport));
    this.#targets.set(address, target);
    return target;
  }

  #findNamed(address: UdAddress): Target {
    const { gid, lid, qpn, qkey, maxMessage } = address;
    const key = `${gid} ${lid} ${qpn} ${qkey} ${maxMessage}`;
    const known = this.#named.get(key);
    if (known !== undefined) return known;
    // Text that is no GID, and can be of any length, is not kept.
    Gid.parse(gid);
    const target: Target = { ...address, packet: undefined, ah: undefined };
    addTo(this.#named, key, target, this.#max);
    return target;
  }

  /** The sender of a datagram that begins at that word of the memory; undefined if it cannot be told. */
  sender(
    batch: WorkCompletionList,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): UdAddress | undefined {
    const words = this.#words;
    if (!this.#from.read(words, batch, index, memory, at)) return undefined;
    const key = hashOf(words);
    const known = this.#senders.get(key);
    if (known !== undefined && this.#equals(known.words)) return known.address;
    const { packet, ...where } = this.#from.sender(words, batch, index, memory, at);
    const address: UdAddress = Object.freeze({
      transport: this.#transport,
      ...where,
      qpn: batch.srcQp(index),
      qkey: this.#qkey,
    });
    this.#targets.set(address, { ...address, packet, ah: undefined });
    this.#senders.delete(key);
    addTo(this.#senders, key, { address, words: words.slice() }, this.#max);
    return address;
  }

  #equals(words: Uint32Array): boolean {
    const current = this.#words;
    for (let i = 0; i < current.length; i++) {
      if (words[i] !== current[i]) return false;
    }
    return true;
  }
}

function hashOf(words: Uint32Array): number {
  let hash = 0;
  for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words[i]!, 0x9e37_79b1);
  return hash ^ hash >>> 15;
}

/** Adds an entry to a map, from which the oldest one goes if there are too many. */
function addTo<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  if (map.size >= max) map.delete(map.keys().next().value!);
  map.set(key, value);
}

/** Whether the caller has not changed an address since it was read. */
function isSame(
  known: Target,
  { transport, gid, lid, qpn, qkey, maxMessage }: UdAddress,
): boolean {
  return transport === known.transport && gid === known.gid && lid === known.lid &&
    qpn === known.qpn && qkey === known.qkey && maxMessage === known.maxMessage;
}
