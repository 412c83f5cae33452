/** The address of a packet's sender. Every bit and every error is that of `ibv_init_ah_from_wc`. */

import { constants, structs } from "../../ffi/layout.ts";
import { IPV4_AT, ipVersionAt } from "../address/grh.ts";
import { type WcAddress, WcFlags } from "../completion/work_completion.ts";
import type { GidCache } from "./gid_cache.ts";

/** A constant of this module, which V8 folds. */
const GRH_FLAG = WcFlags.GRH;

// Next headers of IPv6.
const UDP = 17;
const BTH = 27;

const { fields: grhFields } = structs.ibv_grh;
const VERSION_TCLASS_FLOW = grhFields.version_tclass_flow.offset;
const NEXT_HDR = grhFields.next_hdr.offset;
const HOP_LIMIT_AT = grhFields.hop_limit.offset;
const SGID = grhFields.sgid.offset;
const DGID = grhFields.dgid.offset;

// RFC 791
const TOS = IPV4_AT + 1;
const TTL = IPV4_AT + 8;
const SADDR = IPV4_AT + 12;
const DADDR = IPV4_AT + 16;
/** Bytes 8 to 11 of an IPv4-mapped GID. The bytes before them are 0. */
const MAPPED_WORD = 0xffff_0000;

const { size: ATTR_SIZE, fields } = structs.ibv_ah_attr;
const WORDS = ATTR_SIZE / 4;
const DGID_WORD = wordOf("grh.dgid");
const FLOW_LABEL = wordOf("grh.flow_label");
/** `sgid_index`, `hop_limit` and `traffic_class` share a word. */
const ROUTE = wordOf("grh.sgid_index");
const SGID_INDEX = shiftOf("grh.sgid_index");
const HOP_LIMIT = shiftOf("grh.hop_limit");
const TRAFFIC_CLASS = shiftOf("grh.traffic_class");
/** `dlid`, `sl` and `src_path_bits` share a word. */
const LOCAL = wordOf("dlid");
const DLID = shiftOf("dlid");
const SL = shiftOf("sl");
const SRC_PATH_BITS = shiftOf("src_path_bits");
/** `static_rate`, which is always 0, `is_global` and `port_num` share a word. */
const PORT = wordOf("is_global");
const IS_GLOBAL = shiftOf("is_global");
const PORT_NUM = shiftOf("port_num");

const { size: WC_SIZE, fields: wcFields } = structs.ibv_wc;
const WC_FLAGS = wcFields.wc_flags.offset;
/** `slid`, `sl` and `dlid_path_bits` lie side by side, in the order of `dlid`, `sl` and `src_path_bits`. */
const WC_LOCAL = wcFields.slid.offset;

function wordOf(field: keyof typeof fields): number {
  return fields[field].offset >> 2;
}

function shiftOf(field: keyof typeof fields): number {
  return 8 * (fields[field].offset & 3);
}

/**
 * Computes addresses as the words of a `struct ibv_ah_attr`. Writing words takes half the time of writing fields, and
 * addresses are compared by words.
 */
export class ReplyAddress {
  readonly words: Uint32Array<ArrayBuffer> = new Uint32Array(WORDS);
  readonly #portNum: number;
  #hasFlowLabel = false;

  constructor(port: number) {
    this.#portNum = port << PORT_NUM;
  }

  /**
   * Computes the address from a completion, whose attributes are within the ranges of their C types, and from the
   * `struct ibv_grh` at a byte offset of `grh`. Returns 0, or the errno of the C function. After an error the words are
   * what the C function has written so far.
   */
  compute(wc: WcAddress, grh: DataView, at: number, gids: GidCache): number {
    const { wcFlags, slid, sl, dlidPathBits } = wc;
    const local = slid << DLID | sl << SL | dlidPathBits << SRC_PATH_BITS;
    return this.#compute(wcFlags, local, grh, at, gids);
  }

  /** Computes the address of a GID, which the port's first GID reaches. Returns whether it is a GID. */
  computeFromGid(view: DataView, at: number): boolean {
    const { words } = this;
    let bits = 0;
    for (let i = 0; i < 4; i++) bits |= words[DGID_WORD + i] = view.getUint32(at + 4 * i, true);
    words[FLOW_LABEL] = 0;
    words[ROUTE] = 0;
    words[LOCAL] = 0;
    words[PORT] = this.#portNum | 1 << IS_GLOBAL;
    return bits !== 0;
  }

  /** `ReplyAddress.compute` for a completion in native layout. */
  computeAt(wcs: DataView, index: number, grh: DataView, at: number, gids: GidCache): number {
    const wc = index * WC_SIZE;
    const wcFlags = wcs.getUint32(wc + WC_FLAGS, true);
    return this.#compute(wcFlags, wcs.getUint32(wc + WC_LOCAL, true), grh, at, gids);
  }

  #compute(wcFlags: number, local: number, grh: DataView, at: number, gids: GidCache): number {
    const { words } = this;
    const first = grh.getUint32(at + VERSION_TCLASS_FLOW);
    words[FLOW_LABEL] = first & 0xf_ffff;
    words[LOCAL] = local;
    words[PORT] = this.#portNum;
    this.#hasFlowLabel = false;
    if ((wcFlags & GRH_FLAG) === 0) return leave(words, 0);
    words[PORT] = this.#portNum | 1 << IS_GLOBAL;
    const version = ipVersionAt(grh, at);
    if (version === 4) return writeFromIpv4(words, grh, at, gids);
    if (version !== 6) return leave(words, constants.EPROTONOSUPPORT);
    this.#hasFlowLabel = true;
    return writeFromIpv6(words, first, grh, at, gids);
  }

  /**
   * Clears a flow label that does not come from the packet. The C function reads it even if there is no GRH, or if the
   * header is IPv4. The bytes there are undefined, and would turn one peer into many.
   */
  dropStrayFlowLabel(): void {
    if (!this.#hasFlowLabel) this.words[FLOW_LABEL] = 0;
  }
}

/** Copies the words of an address into a `struct ibv_ah_attr`. */
export function writeWords(words: Uint32Array, attr: DataView): void {
  for (let i = 0; i < WORDS; i++) attr.setUint32(4 * i, words[i]!, true);
}

function writeFromIpv4(words: Uint32Array, grh: DataView, at: number, gids: GidCache): number {
  const daddr = grh.getUint32(at + DADDR, true);
  if ((daddr & 0xf0) === 0xe0) return leave(words, constants.EINVAL);
  const index = gids.find(0, 0, MAPPED_WORD, daddr, true);
  if (index < 0) return leave(words, gids.missErrno);
  words[DGID_WORD] = 0;
  words[DGID_WORD + 1] = 0;
  words[DGID_WORD + 2] = MAPPED_WORD;
  words[DGID_WORD + 3] = grh.getUint32(at + SADDR, true);
  words[ROUTE] = routeWord(index, grh.getUint8(at + TTL), grh.getUint8(at + TOS));
  return 0;
}

function writeFromIpv6(
  words: Uint32Array,
  first: number,
  grh: DataView,
  at: number,
  gids: GidCache,
): number {
  const dgid = grh.getUint32(at + DGID, true);
  if ((dgid & 0xff) === 0xff) return leave(words, constants.EINVAL);
  words[DGID_WORD] = grh.getUint32(at + SGID, true);
  words[DGID_WORD + 1] = grh.getUint32(at + SGID + 4, true);
  words[DGID_WORD + 2] = grh.getUint32(at + SGID + 8, true);
  words[DGID_WORD + 3] = grh.getUint32(at + SGID + 12, true);
  words[ROUTE] = 0;
  const next = grh.getUint8(at + NEXT_HDR);
  if (next !== UDP && next !== BTH) return constants.EPROTONOSUPPORT;
  const index = gids.find(
    dgid,
    grh.getUint32(at + DGID + 4, true),
    grh.getUint32(at + DGID + 8, true),
    grh.getUint32(at + DGID + 12, true),
    next === UDP,
  );
  if (index < 0) return gids.missErrno;
  words[ROUTE] = routeWord(index, grh.getUint8(at + HOP_LIMIT_AT), first >>> 20 & 0xff);
  return 0;
}

function leave(words: Uint32Array, errno: number): number {
  words.fill(0, DGID_WORD, DGID_WORD + 4);
  words[ROUTE] = 0;
  return errno;
}

/** Cuts off the upper bits of the index, as the C function does. */
function routeWord(index: number, hopLimit: number, trafficClass: number): number {
  return (index & 0xff) << SGID_INDEX | hopLimit << HOP_LIMIT | trafficClass << TRAFFIC_CLASS;
}
