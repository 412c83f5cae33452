/** A port's GID table as a hash table. `ibv_init_ah_from_wc` searches the table with system calls. */

import { WordCache } from "../../internal/word_cache.ts";
import { errno } from "../../ffi/errno.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { type GidEntry, GidType } from "../address/gid.ts";
import { failure } from "../core/errors.ts";
import type { Context } from "../device/context.ts";

/** The types in keys. The C search does not distinguish RoCE v1 from InfiniBand. */
const ROCE_V1_OR_IB = 1;
const ROCE_V2 = 2;

/** Finds the index of a GID in a time that does not depend on the size of the table. */
export class GidCache {
  /** The errno of a search that finds nothing. */
  readonly missErrno: number;
  readonly #indices: WordCache<number>;
  /** The last search: four words of the GID, and the type. Most packets are sent to the same GID. */
  readonly #key: Uint32Array<ArrayBuffer> = new Uint32Array(8);
  #index = -1;

  /** Indexes the used slots of one port, of `length` slots. */
  constructor(entries: readonly GidEntry[], length: number, missErrno: number) {
    this.missErrno = missErrno;
    this.#indices = new WordCache(entries.length + 1);
    const ordered = entries.toSorted((a, b) => a.gidIndex - b.gidIndex);
    const gap = ordered.findIndex(({ gidIndex }, i) => gidIndex !== i);
    const empty = gap < 0 ? ordered.length : gap;
    // The C search reads an empty slot as the zero GID of RoCE v1. It finds the slot if it looks for that GID.
    if (empty < length) this.#add(new Uint8Array(16), GidType.IB, empty);
    // The search finds the lowest index, which is added last.
    for (const { gid, gidType, gidIndex } of ordered.reverse()) {
      this.#add(gid.bytes, gidType, gidIndex);
    }
  }

  static read(context: Context, port: number): GidCache {
    const length = context.queryPort(port).gidTblLen;
    return new GidCache(context.queryGidTable(port), length, errnoBeyond(context, port, length));
  }

  #add(bytes: Uint8Array<ArrayBuffer>, type: GidType, index: number): void {
    const key = new Uint32Array(8);
    key.set(new Uint32Array(bytes.buffer));
    key[4] = type === GidType.ROCE_V2 ? ROCE_V2 : ROCE_V1_OR_IB;
    this.#indices.set(key, index);
  }

  /**
   * The lowest index of a GID, which is given as four little-endian words; -1 if the table does not have it. The type of
   * the slot is RoCE v2, or else RoCE v1 or InfiniBand.
   */
  find(a: number, b: number, c: number, d: number, isRoceV2: boolean): number {
    const key = this.#key;
    const type = isRoceV2 ? ROCE_V2 : ROCE_V1_OR_IB;
    if (key[3] === d && key[2] === c && key[1] === b && key[0] === a && key[4] === type) {
      return this.#index;
    }
    key[0] = a;
    key[1] = b;
    key[2] = c;
    key[3] = d;
    key[4] = type;
    return this.#index = this.#indices.find(key) ?? -1;
  }
}

/** The C search ends with the query of the first slot beyond the table. Its errno depends on the kernel. */
function errnoBeyond(context: Context, port: number, length: number): number {
  const gid = new Uint8Array(structs.ibv_gid.size);
  if (verbs().ibv_query_gid(context.unsafeHandle, port, length, gid) !== 0) return errno();
  throw failure("ibv_query_gid", "read GID table", 0, {
    detail: () => `port ${port} has more than ${length} slots`,
  });
}
