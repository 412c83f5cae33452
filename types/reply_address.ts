/**
 * The address of a packet's sender, computed as `ibv_init_ah_from_wc` does, to the last bit and the last error.
 *
 * @module
 */

import { structs } from "../ffi/layout.ts";
import type { GidCache } from "./gid_cache.ts";
import { hasIpv4Checksum, IPV4_AT } from "./grh.ts";
import { WcFlags } from "./work_completion.ts";

// asm-generic/errno-base.h and errno.h, alike on both architectures
const EINVAL = 22;
const EPROTONOSUPPORT = 93;

// what follows an IPv6 header or a GRH
const UDP = 17;
const BTH = 27;

const { fields: grhFields } = structs.ibv_grh;
const VERSION_TCLASS_FLOW = grhFields.version_tclass_flow.offset;
const NEXT_HDR = grhFields.next_hdr.offset;
const GRH_HOP_LIMIT = grhFields.hop_limit.offset;
const SGID = grhFields.sgid.offset;
const DGID = grhFields.dgid.offset;

// RFC 791
const TOS = IPV4_AT + 1;
const TTL = IPV4_AT + 8;
const SADDR = IPV4_AT + 12;
const DADDR = IPV4_AT + 16;
/** Bytes 8 to 11 of a GID that stands for an IPv4 address; those before are 0. */
const MAPPED_WORD = 0xffff_0000;

const { fields: wcFields } = structs.ibv_wc;
const WC_FLAGS = wcFields.wc_flags.offset;
const SLID = wcFields.slid.offset;
const WC_SL = wcFields.sl.offset;
const DLID_PATH_BITS = wcFields.dlid_path_bits.offset;

const { size: ATTR_SIZE, fields: attrFields } = structs.ibv_ah_attr;
const ATTR_DGID = attrFields["grh.dgid"].offset;
const FLOW_LABEL = attrFields["grh.flow_label"].offset;
const SGID_INDEX = attrFields["grh.sgid_index"].offset;
const HOP_LIMIT = attrFields["grh.hop_limit"].offset;
const TRAFFIC_CLASS = attrFields["grh.traffic_class"].offset;
const DLID = attrFields.dlid.offset;
const SL = attrFields.sl.offset;
const SRC_PATH_BITS = attrFields.src_path_bits.offset;
const IS_GLOBAL = attrFields.is_global.offset;
const PORT_NUM = attrFields.port_num.offset;

/**
 * Writes the `struct ibv_ah_attr` of a reply, from a `struct ibv_wc` and a `struct ibv_grh`, each by its view and byte
 * offset. Returns 0, or the errno that the C function leaves; then what it leaves of the address is there as well.
 */
export function writeReplyAttr(
  attr: DataView,
  base: number,
  wc: DataView,
  wcAt: number,
  grh: DataView,
  grhAt: number,
  port: number,
  gids: GidCache,
): number {
  for (let at = base; at < base + ATTR_SIZE; at += 4) attr.setUint32(at, 0);
  const word = grh.getUint32(grhAt + VERSION_TCLASS_FLOW);
  attr.setUint32(base + FLOW_LABEL, word & 0xf_ffff, true);
  attr.setUint16(base + DLID, wc.getUint16(wcAt + SLID, true), true);
  attr.setUint8(base + SL, wc.getUint8(wcAt + WC_SL));
  attr.setUint8(base + SRC_PATH_BITS, wc.getUint8(wcAt + DLID_PATH_BITS));
  attr.setUint8(base + PORT_NUM, port);
  if ((wc.getUint32(wcAt + WC_FLAGS, true) & WcFlags.GRH) === 0) return 0;
  attr.setUint8(base + IS_GLOBAL, 1);
  switch (headerVersion(grh, grhAt)) {
    case 4:
      return writeFromIpv4(attr, base, grh, grhAt, gids);
    case 6:
      return writeFromIpv6(attr, base, grh, grhAt, gids, word);
    default:
      return EPROTONOSUPPORT;
  }
}

/** Whether the sender is named by an IPv4 header, in whose GRH no flow label was received. */
export function isIpv4(grh: DataView, at: number): boolean {
  return headerVersion(grh, at) === 4;
}

function headerVersion(grh: DataView, at: number): number {
  const first = grh.getUint8(at + IPV4_AT);
  if (grh.getUint8(at) >> 4 !== 6) return first >> 4 === 4 ? 4 : 0;
  return (first & 0xf) === 5 && hasIpv4Checksum(grh, at) ? 4 : 6;
}

function writeFromIpv4(
  attr: DataView,
  base: number,
  grh: DataView,
  at: number,
  gids: GidCache,
): number {
  if (grh.getUint8(at + DADDR) >> 4 === 0xe) return EINVAL;
  const index = gids.find(0, 0, MAPPED_WORD, grh.getUint32(at + DADDR, true), true);
  if (index < 0) return gids.missErrno;
  attr.setUint32(base + ATTR_DGID + 8, MAPPED_WORD, true);
  attr.setUint32(base + ATTR_DGID + 12, grh.getUint32(at + SADDR, true), true);
  // like the C function, which drops the upper bits
  attr.setUint8(base + SGID_INDEX, index);
  attr.setUint8(base + HOP_LIMIT, grh.getUint8(at + TTL));
  attr.setUint8(base + TRAFFIC_CLASS, grh.getUint8(at + TOS));
  return 0;
}

function writeFromIpv6(
  attr: DataView,
  base: number,
  grh: DataView,
  at: number,
  gids: GidCache,
  word: number,
): number {
  if (grh.getUint8(at + DGID) === 0xff) return EINVAL;
  for (let i = 0; i < 16; i += 4) {
    attr.setUint32(base + ATTR_DGID + i, grh.getUint32(at + SGID + i, true), true);
  }
  const next = grh.getUint8(at + NEXT_HDR);
  if (next !== UDP && next !== BTH) return EPROTONOSUPPORT;
  const index = gids.find(
    grh.getUint32(at + DGID, true),
    grh.getUint32(at + DGID + 4, true),
    grh.getUint32(at + DGID + 8, true),
    grh.getUint32(at + DGID + 12, true),
    next === UDP,
  );
  if (index < 0) return gids.missErrno;
  attr.setUint8(base + SGID_INDEX, index);
  attr.setUint8(base + HOP_LIMIT, grh.getUint8(at + GRH_HOP_LIMIT));
  attr.setUint8(base + TRAFFIC_CLASS, word >>> 20 & 0xff);
  return 0;
}
