import { structs } from "../../ffi/mod.ts";
import { Gid, Grh, VerbsError, WcFlags, type WorkCompletionList } from "../../mod.ts";
import type { Target } from "./ud_address.ts";

/** Who has sent a datagram. */
export type Sender = Pick<Target, "gid" | "lid" | "packet">;

/** How a device tells the senders of datagrams. A datagram begins at a word of the memory. */
export interface Senders {
  /** Writes what tells the sender apart to words that are 0. It is false if the sender cannot be told. */
  read(
    words: Uint32Array<ArrayBuffer>,
    batch: WorkCompletionList,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): boolean;
  /** Who the sender is whose words were read. */
  sender(
    words: Uint32Array<ArrayBuffer>,
    batch: WorkCompletionList,
    index: number,
    memory: Uint32Array<ArrayBuffer>,
    at: number,
  ): Sender;
}

const GRH_WORDS = Grh.SIZE / 4;
/** The words that tell a sender apart: those of a GRH, and three of its completion. */
export const SENDER_WORDS: number = GRH_WORDS + 3;
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
const NO_GRH = masks(GRH_WORDS, {});

function masks(first: number, special: Record<number, number>): Uint32Array {
  return Uint32Array.from(
    { length: GRH_WORDS },
    (_, i) => i < first ? 0 : special[i] ?? 0xffff_ffff,
  );
}

/** The GRH before a datagram, and the completion, tell its sender. */
export const GRH_SENDERS: Senders = {
  read: (words, batch, index, memory, at) => {
    const flags = batch.wcFlags(index) & WcFlags.GRH;
    words[GRH_WORDS] = batch.srcQp(index);
    words[GRH_WORDS + 1] = batch.slid(index) << 16 | batch.sl(index) << 8 |
      batch.dlidPathBits(index);
    words[GRH_WORDS + 2] = flags;
    const masks = (memory[at]! & VERSION) === IPV6 ? IPV6_MASKS : IPV4_MASKS;
    const bits = flags === 0 ? NO_GRH : masks;
    for (let i = 0; i < GRH_WORDS; i++) words[i] = memory[at + i]! & bits[i]!;
    return true;
  },
  sender: (_words, batch, index, memory, at) => {
    const wc = batch.at(index);
    const grh = new Grh(new Uint8Array(memory.buffer, memory.byteOffset + 4 * at, Grh.SIZE));
    const gid = (wc.wcFlags & WcFlags.GRH) === 0 ? "::" : grh.sgid.toString();
    return { gid, lid: wc.slid, packet: { wc, grh } };
  },
};

const GID_WORDS = 4;

/**
 * Where completions name senders by the numbers of address handles, the reply path of the handles knows the sender.
 *
 * @param writeAttr Writes the address of a sender, which begins with its GID. It throws a {@linkcode VerbsError} if there is
 * none.
 */
export function namedSenders(
  writeAttr: (attr: DataView, batch: WorkCompletionList, index: number) => void,
): Senders {
  const attr = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size));
  const gid = new Uint32Array(attr.buffer, 0, GID_WORDS);
  return {
    read: (words, batch, index) => {
      try {
        writeAttr(attr, batch, index);
      } catch (error) {
        if (error instanceof VerbsError) return false;
        throw error;
      }
      words.set(gid);
      words[GID_WORDS] = batch.srcQp(index);
      return true;
    },
    sender: (words) => {
      const gid = new Gid(new Uint8Array(words.slice(0, GID_WORDS).buffer)).toString();
      return { gid, lid: 0, packet: undefined };
    },
  };
}
