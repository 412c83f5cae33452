/**
 * A port's GID table as a hash table. `ibv_init_ah_from_wc` searches the table with system calls.
 *
 * @module
 */

import { type GidEntry, GidType } from "../address/gid.ts";
import { VerbsError } from "../core/errors.ts";
import type { Context } from "../device/context.ts";

/** Four words of GID, its type, its index. */
const WORDS = 6;
const TYPE = 4;
const INDEX = 5;
/** A slot of the hash table is free while its type is 0. */
const ROCE_V1_OR_IB = 1;
const ROCE_V2 = 2;

/** A GID table. */
export interface GidTable {
  /** The used slots of one port. */
  readonly entries: readonly GidEntry[];
  /** The number of slots, used or not. */
  readonly length: number;
  /** errno of a search that finds nothing. */
  readonly missErrno: number;
}

/** Finds the index of a GID in a time that does not depend on the size of the table. */
export class GidCache {
  /** errno of a search that finds nothing. */
  readonly missErrno: number;
  readonly #slots: Uint32Array<ArrayBuffer>;
  readonly #mask: number;
  /** The end of the last search. Most packets are sent to the same GID, and hashing takes half the time of a search. */
  #recent = 0;

  /** Indexes a table. */
  constructor({ entries, length, missErrno }: GidTable) {
    this.missErrno = missErrno;
    const size = 2 ** Math.ceil(Math.log2(2 * (entries.length + 1)));
    this.#slots = new Uint32Array(size * WORDS);
    this.#mask = size - 1;
    const ordered = [...entries].sort((a, b) => a.gidIndex - b.gidIndex);
    for (const { gid, gidType, gidIndex } of ordered) this.#add(gid.bytes, gidType, gidIndex);
    const empty = firstUnused(ordered, length);
    // The C search reads an empty slot as the zero GID of RoCE v1. It finds the slot if it looks for that GID.
    if (empty !== undefined) this.#add(new Uint8Array(16), GidType.IB, empty);
  }

  /** Reads the table of a port. */
  static read(context: Context, port: number): GidCache {
    const length = context.queryPort(port).gidTblLen;
    return new GidCache({
      entries: context.gidTable(port),
      length,
      missErrno: errnoBeyond(context, port, length),
    });
  }

  #add(bytes: Uint8Array<ArrayBuffer>, type: GidType, index: number): void {
    const view = new DataView(bytes.buffer);
    const [a, b, c, d] = [0, 4, 8, 12].map((at) => view.getUint32(at, true)) as Quad;
    const isRoceV2 = type === GidType.ROCE_V2;
    // The search finds the lowest index, which is added first.
    if (this.find(a, b, c, d, isRoceV2) >= 0) return;
    const at = this.#seek(a, b, c, d, isRoceV2 ? ROCE_V2 : ROCE_V1_OR_IB);
    this.#slots.set([a, b, c, d, isRoceV2 ? ROCE_V2 : ROCE_V1_OR_IB, index], at);
  }

  /**
   * The lowest index of a GID, which is given as four little-endian words; -1 if the table does not have it. The type of
   * the slot is RoCE v2, or else RoCE v1 or InfiniBand, between which the search makes no difference.
   */
  find(a: number, b: number, c: number, d: number, isRoceV2: boolean): number {
    const type = isRoceV2 ? ROCE_V2 : ROCE_V1_OR_IB;
    if (this.#holds(this.#recent, a, b, c, d, type)) return this.#slots[this.#recent + INDEX]!;
    return this.#search(a, b, c, d, type);
  }

  #search(a: number, b: number, c: number, d: number, type: number): number {
    const at = this.#seek(a, b, c, d, type);
    if (this.#slots[at + TYPE] === 0) return -1;
    this.#recent = at;
    return this.#slots[at + INDEX]!;
  }

  /** The place of a GID, or the free place for it. */
  #seek(a: number, b: number, c: number, d: number, type: number): number {
    let slot = hash(a, b, c, d) & this.#mask;
    while (true) {
      const at = slot * WORDS;
      if (this.#slots[at + TYPE] === 0 || this.#holds(at, a, b, c, d, type)) return at;
      slot = slot + 1 & this.#mask;
    }
  }

  #holds(at: number, a: number, b: number, c: number, d: number, type: number): boolean {
    const slots = this.#slots;
    return slots[at + 3] === d && slots[at + 2] === c && slots[at + 1] === b && slots[at] === a &&
      slots[at + TYPE] === type;
  }
}

type Quad = [number, number, number, number];

function hash(a: number, b: number, c: number, d: number): number {
  let h = Math.imul(a ^ 0x9e37_79b9, 0x85eb_ca6b) ^ b;
  h = Math.imul(h ^ h >>> 15, 0xc2b2_ae35) ^ c;
  h = Math.imul(h ^ h >>> 13, 0x27d4_eb2f) ^ d;
  h = Math.imul(h ^ h >>> 15, 0x1656_67b1);
  return h ^ h >>> 16;
}

function firstUnused(ordered: readonly GidEntry[], length: number): number | undefined {
  const used = new Set(ordered.map(({ gidIndex }) => gidIndex));
  for (let index = 0; index < length; index++) {
    if (!used.has(index)) return index;
  }
  return undefined;
}

/** The C search ends with the query of the first slot beyond the table. Its errno depends on the kernel. */
function errnoBeyond(context: Context, port: number, length: number): number {
  try {
    context.queryGid(port, length);
  } catch (error) {
    if (error instanceof VerbsError) return error.errno;
    throw error;
  }
  const detail = `port ${port} has more than ${length} slots`;
  throw new VerbsError("ibv_query_gid", "read GID table", 0, { detail });
}
