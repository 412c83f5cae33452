import { WordCache } from "../../internal/word_cache.ts";
import {
  type AddressHandle,
  Gid,
  Grh,
  type WcAddress,
  WcFlags,
  type WorkCompletionList,
} from "../../mod.ts";
import { readUdAddress, type UdAddress } from "./ud_address.ts";

/** A packet that can be answered. */
export interface Packet {
  readonly wc: WcAddress;
  readonly grh: Grh;
}

/** An object itself. A class that extends it adds private fields to the object that is given. */
class Itself {
  constructor(object: object) {
    return object;
  }
}

/**
 * What a socket knows of a peer, in private fields of the peer's address, which nobody else sees. Other objects,
 * and a table that leads to them, would be at other places of memory: with many peers, each such access takes time.
 */
class Knowledge extends Itself {
  readonly #owner: object;
  readonly #packet: Packet | undefined;
  #ah: AddressHandle | undefined;

  constructor(address: UdAddress, owner: object, packet: Packet | undefined) {
    super(address);
    this.#owner = owner;
    this.#packet = packet;
  }

  static belongs(address: object, owner: object): address is Peer {
    return #owner in address && address.#owner === owner;
  }

  static packetOf(peer: Peer): Packet | undefined {
    return peer.#packet;
  }

  static handleOf(peer: Peer): AddressHandle | undefined {
    return peer.#ah;
  }

  static setHandle(peer: Peer, ah: AddressHandle): AddressHandle {
    return peer.#ah = ah;
  }
}

/** Where datagrams go: an address that does not change, and what the socket knows of the peer. */
export type Peer = UdAddress & Knowledge;

/** The packet that the address of a peer comes from; undefined if a caller or an address handle names the peer. */
export const packetOf: (peer: Peer) => Packet | undefined = Knowledge.packetOf;

/** The handle that a peer was reached by last. It may be closed. */
export const handleOf: (peer: Peer) => AddressHandle | undefined = Knowledge.handleOf;

export const setHandle: (peer: Peer, ah: AddressHandle) => AddressHandle = Knowledge.setHandle;

/** Writes the address of a sender, which begins with its GID. It returns false if the sender is unknown. */
export type WriteSender = (attr: DataView, batch: WorkCompletionList, index: number) => boolean;

const GRH_WORDS = Grh.SIZE / 4;
const GID_WORDS = 4;
/** The words of a sender after those of its GRH or its address: the queue pair, the packet's LIDs, and flags. */
const QPN = GRH_WORDS;
const LOCAL = QPN + 1;
const FLAGS = LOCAL + 1;
const WORDS = FLAGS + 1;

/** The first word of the IPv4 header that a GRH may contain. */
const IPV4 = 5;
/** The version in the first word, and its value if it is an IPv6 header (little-endian). */
const VERSION = 0xf0;
const IPV6 = 0x60;

/**
 * The bits of a GRH that differ between senders to one receiver, in words as the machine reads them (little-endian). The others
 * differ between packets of one sender: the length of the payload, and for IPv4 the total length, the identification and
 * the checksum.
 */
const IPV6_MASKS = masks(0, { 1: 0xffff_0000 });
const IPV4_MASKS = masks(IPV4, { [IPV4]: 0x0000_ffff, [IPV4 + 1]: 0, [IPV4 + 2]: 0x0000_ffff });
const NO_GRH = masks(GRH_WORDS, {});

function masks(first: number, special: Record<number, number>): Uint32Array {
  return Uint32Array.from(
    { length: GRH_WORDS },
    (_, i) => i < first ? 0 : special[i] ?? 0xffff_ffff,
  );
}

/**
 * The peers of a socket: the senders of datagrams, and addresses that the caller named. A datagram of a known sender
 * gets the same address object again, so it allocates nothing and its address handle is known. Senders choose their
 * addresses, so their number is limited; the least recently seen one goes first.
 */
export class Peers {
  readonly #qkey: number;
  readonly #max: number;
  readonly #transport: string;
  readonly #writeSender: WriteSender | undefined;
  readonly #senders: WordCache<Peer>;
  /** Marks the addresses of its own senders. An address that a program keeps must not keep all peers. */
  readonly #owner: object = {};
  /** Peers whose addresses the caller named: by the objects, while the caller has them, and by their text. */
  readonly #given: WeakMap<UdAddress, Peer> = new WeakMap();
  readonly #named: Map<string, Peer> = new Map();
  /** The words of the datagram that is looked up. */
  readonly #words: Uint32Array<ArrayBuffer> = new Uint32Array(WORDS);
  readonly #attr: DataView = new DataView(this.#words.buffer, 0, QPN * 4);

  /**
   * Remembers up to `max` peers of each kind. Senders are expected to accept the qkey.
   *
   * @param writeSender Finds the senders of packets that have no GRH.
   */
  constructor(qkey: number, max: number, transport: string = "UD", writeSender?: WriteSender) {
    this.#qkey = qkey;
    this.#max = max;
    this.#transport = transport;
    this.#writeSender = writeSender;
    this.#senders = new WordCache(max, WORDS);
  }

  /**
   * The peer of an address that a caller gives, which is read and checked, for a message.
   *
   * @throws {RangeError} If the message is too long for the peer. It would be lost, and no completion would report it.
   */
  of(address: UdAddress, length: number): Peer {
    const isOwn = typeof address === "object" && address !== null &&
      Knowledge.belongs(address, this.#owner);
    const peer = isOwn ? address : this.#read(address);
    const { maxMessage = Infinity } = peer;
    if (length > maxMessage) throw tooLong(length, maxMessage);
    return peer;
  }

  #read(address: UdAddress): Peer {
    const known = this.#given.get(address);
    if (known !== undefined && isSame(known, address)) return known;
    const peer = this.#findNamed(readUdAddress(address, this.#transport));
    this.#given.set(address, peer);
    return peer;
  }

  #findNamed(address: UdAddress): Peer {
    const { gid, lid, qpNum, qkey, maxMessage } = address;
    const key = `${gid} ${lid} ${qpNum} ${qkey} ${maxMessage}`;
    const known = this.#named.get(key);
    if (known !== undefined) return known;
    // Text that is no GID, and can be of any length, is not kept.
    Gid.parse(gid);
    const peer = this.#know(address, undefined);
    if (this.#named.size >= this.#max) this.#named.delete(this.#named.keys().next().value!);
    this.#named.set(key, peer);
    return peer;
  }

  /** The sender of a datagram that begins at that word of the memory; undefined if it is unknown. */
  sender(
    batch: WorkCompletionList,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): UdAddress | undefined {
    const words = this.#words;
    words[QPN] = batch.srcQp(index);
    if (this.#writeSender === undefined) readSender(words, batch, index, memory, at);
    else if (!this.#writeSender(this.#attr, batch, index)) return undefined;
    return this.#senders.find(words) ?? this.#add(batch, index, memory, at);
  }

  /** Adds a new sender, whose words were read. */
  #add(
    batch: WorkCompletionList,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): UdAddress {
    const words = this.#words;
    const packet = this.#writeSender === undefined
      ? readPacket(batch, index, memory, at)
      : undefined;
    const address = {
      transport: this.#transport,
      gid: packet === undefined ? gidOf(words) : sgidOf(packet),
      lid: packet?.wc.slid ?? 0,
      qpNum: words[QPN]!,
      qkey: this.#qkey,
    };
    const peer = this.#know(address, packet);
    this.#senders.set(words, peer);
    return peer;
  }

  #know(address: UdAddress, packet: Packet | undefined): Peer {
    const peer = new Knowledge(address, this.#owner, packet) as Peer;
    Object.freeze(peer);
    return peer;
  }
}

/** Writes what differs between senders of packets that have a GRH. */
function readSender(
  words: Uint32Array<ArrayBuffer>,
  batch: WorkCompletionList,
  index: number,
  memory: Uint32Array<ArrayBuffer>,
  at: number,
): void {
  const flags = batch.wcFlags(index) & WcFlags.GRH;
  words[LOCAL] = batch.slid(index) << 16 | batch.sl(index) << 8 | batch.dlidPathBits(index);
  words[FLAGS] = flags;
  const masks = (memory[at]! & VERSION) === IPV6 ? IPV6_MASKS : IPV4_MASKS;
  const bits = flags === 0 ? NO_GRH : masks;
  for (let i = 0; i < GRH_WORDS; i++) words[i] = memory[at + i]! & bits[i]!;
}

function readPacket(
  batch: WorkCompletionList,
  index: number,
  { buffer, byteOffset }: Uint32Array<ArrayBuffer>,
  at: number,
): Packet {
  const { wcFlags, slid, sl, dlidPathBits } = batch.at(index);
  const grh = new Grh(new Uint8Array(buffer, byteOffset + 4 * at, Grh.SIZE));
  return { wc: { wcFlags, slid, sl, dlidPathBits }, grh };
}

function sgidOf({ wc, grh }: Packet): string {
  return wc.wcFlags & WcFlags.GRH ? grh.sgid.toString() : "::";
}

function gidOf(words: Uint32Array<ArrayBuffer>): string {
  return new Gid(new Uint8Array(words.slice(0, GID_WORDS).buffer)).toString();
}

function tooLong(length: number, maxMessage: number): RangeError {
  return new RangeError(
    `Cannot send: the message has ${length} bytes, and the peer takes at most ${maxMessage} ` +
      "(maxMessage of its address: its MTU is smaller)",
  );
}

/** Whether the caller has not changed an address since it was read. */
function isSame(
  known: Peer,
  { transport, gid, lid, qpNum, qkey, maxMessage }: UdAddress,
): boolean {
  return transport === known.transport && gid === known.gid && lid === known.lid &&
    qpNum === known.qpNum && qkey === known.qkey && maxMessage === known.maxMessage;
}
