/**
 * Work completions and GRHs as a device might write them, valid and not: what `ibv_init_ah_from_wc` and everything that
 * claims to equal it are compared on.
 */

import { Gid, type GidEntry, WcFlags } from "../../mod.ts";
import { structs } from "../../ffi/layout.ts";
import { writeField } from "../../ffi/struct.ts";
import { Random } from "../random.ts";

const { ibv_wc, ibv_grh } = structs;
const IPV4_AT = 20;
const UDP = 17;
const BTH = 27;

/** A completion and the 40 bytes before its payload, in native layout. */
export interface WcPair {
  /** `struct ibv_wc`. */
  readonly wc: Uint8Array<ArrayBuffer>;
  /** `struct ibv_grh`. */
  readonly grh: Uint8Array<ArrayBuffer>;
}

/** What pairs are made of. */
export interface WcSource {
  /** The device's GIDs: packets were sent to them, mostly. */
  readonly gids: readonly GidEntry[];
  /** Where the sequence starts. */
  readonly seed: number;
  /**
   * How many pairs name a GID that the table lacks. Each of those costs a search through all its slots, with two
   * system calls a slot.
   */
  readonly misses: number;
}

/** Generates `count` pairs. */
export function generateWcPairs(count: number, { gids, seed, misses }: WcSource): WcPair[] {
  const random = new Random(seed);
  const mapped = gids.filter(({ gid }) => gid.isIpv4Mapped).map(({ gid }) => gid);
  const others = gids.filter(({ gid }) => !gid.isIpv4Mapped).map(({ gid }) => gid);
  const unknown = new Set(Array.from({ length: misses }, (_, i) => Math.floor(i * count / misses)));
  return Array.from({ length: count }, (_, i) => {
    const shape = random.pick(SHAPES);
    const gid = unknown.has(i)
      ? new Gid(Uint8Array.of(...mapped[0]!.bytes.subarray(0, 12), ...random.bytes(4)))
      : undefined;
    const known = { v4: gid ?? random.pick(mapped), v6: gid ?? random.pick(others) };
    return { wc: wcBytes(random), grh: shape(random, known) };
  });
}

interface Known {
  /** A GID that stands for an IPv4 address. */
  readonly v4: Gid;
  /** Any other. */
  readonly v6: Gid;
}

type Shape = (random: Random, known: Known) => Uint8Array<ArrayBuffer>;

const SHAPES: readonly Shape[] = [
  ipv6,
  ipv6,
  ipv6ToMulticast,
  ipv6WithOtherNextHeader,
  ipv6WithIpv4LookingHalf,
  ipv4,
  ipv4,
  ipv4ToMulticast,
  ipv4BehindJunk,
  ipv4BehindIpv6LookingJunk,
  ipv4WithoutChecksumBehindIpv6LookingJunk,
  ipv4WithCarryBehindIpv6LookingJunk,
  ipv4WithOptions,
  neither,
  junkWithoutIpv6,
];

function wcBytes(random: Random): Uint8Array<ArrayBuffer> {
  // what the verb has no business with is junk
  const bytes = random.bytes(ibv_wc.size);
  const view = new DataView(bytes.buffer);
  const flags = random.below(256) & ~WcFlags.GRH;
  writeField(view, ibv_wc.fields.wc_flags, random.oneIn(8) ? flags : flags | WcFlags.GRH);
  return bytes;
}

function ipv6(random: Random, { v6 }: Known): Uint8Array<ArrayBuffer> {
  const grh = random.bytes(ibv_grh.size);
  const view = new DataView(grh.buffer);
  const { fields } = ibv_grh;
  grh[0] = 0x60 | grh[0]! & 0xf;
  writeField(view, fields.next_hdr, random.oneIn(4) ? BTH : UDP);
  grh.set(random.bytes(16), fields.sgid.offset);
  grh.set(v6.bytes, fields.dgid.offset);
  return grh;
}

function ipv6ToMulticast(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv6(random, known);
  grh[ibv_grh.fields.dgid.offset] = 0xff;
  return grh;
}

function ipv6WithOtherNextHeader(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv6(random, known);
  grh[ibv_grh.fields.next_hdr.offset] = random.pick([0, 1, 6, 16, 18, 26, 28, 58, 255]);
  return grh;
}

/** Its sender's address has bytes where an IPv4 header would begin. */
function ipv6WithIpv4LookingHalf(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv6(random, known);
  grh[IPV4_AT] = random.pick([0x45, 0x55, 0x05, 0x46]);
  return grh;
}

/** As rxe writes it: zeros, and the header in the second half. */
function ipv4(random: Random, { v4 }: Known): Uint8Array<ArrayBuffer> {
  const grh = new Uint8Array(ibv_grh.size);
  grh.set(random.bytes(ibv_grh.size - IPV4_AT), IPV4_AT);
  grh[IPV4_AT] = 0x45;
  grh.set(v4.bytes.subarray(12), ibv_grh.size - 4);
  return withChecksum(grh);
}

function ipv4ToMulticast(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv4(random, known);
  grh[ibv_grh.size - 4] = random.pick([224, 225, 232, 239]);
  return withChecksum(grh);
}

function ipv4BehindJunk(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv4(random, known);
  grh.set(random.bytes(IPV4_AT));
  return grh;
}

function ipv4BehindIpv6LookingJunk(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv4BehindJunk(random, known);
  grh[0] = 0x60 | grh[0]! & 0xf;
  return grh;
}

/** As adapters that clear the checksum write it, or with one bit off. */
function ipv4WithoutChecksumBehindIpv6LookingJunk(
  random: Random,
  known: Known,
): Uint8Array<ArrayBuffer> {
  const grh = ipv4BehindIpv6LookingJunk(random, known);
  const at = IPV4_AT + 10;
  if (random.oneIn(2)) grh[at] = grh[at]! ^ 1 << random.below(8);
  else grh.fill(0, at, at + 2);
  // what is then taken for an IPv6 header names the next one here, and would mostly name none
  grh[ibv_grh.fields.next_hdr.offset] = UDP;
  return grh;
}

/** The sum of its words needs folding twice, which libibverbs does not do. */
function ipv4WithCarryBehindIpv6LookingJunk(
  random: Random,
  known: Known,
): Uint8Array<ArrayBuffer> {
  const grh = ipv4BehindIpv6LookingJunk(random, known);
  // the word that makes the low half of the sum all ones minus less than the carries that are then added
  const at = IPV4_AT + 4;
  const view = new DataView(grh.buffer);
  view.setUint16(at, 0);
  const sum = sumOfWords(grh);
  const carries = (sum >>> 16) + 1;
  view.setUint16(at, 0x1_0000 - random.below(carries) - (sum & 0xffff) - 1 & 0xffff, true);
  return withChecksum(grh);
}

function ipv4WithOptions(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = random.oneIn(2) ? ipv4(random, known) : ipv4BehindIpv6LookingJunk(random, known);
  grh[IPV4_AT] = 0x40 | random.pick([0, 4, 6, 15]);
  return withChecksum(grh);
}

function neither(random: Random, known: Known): Uint8Array<ArrayBuffer> {
  const grh = ipv6(random, known);
  grh[0] = random.pick([0x00, 0x10, 0x45, 0x5f, 0x70, 0xff]);
  grh[IPV4_AT] = random.pick([0x00, 0x35, 0x54, 0x64, 0xff]);
  return grh;
}

function junkWithoutIpv6(random: Random): Uint8Array<ArrayBuffer> {
  const grh = random.bytes(ibv_grh.size);
  grh[0] = random.below(0x60);
  grh[IPV4_AT] = random.below(0x40);
  return grh;
}

/** The header's words, without the checksum, in the host's order. */
function sumOfWords(grh: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(grh.buffer);
  let sum = 0;
  for (let at = IPV4_AT; at < ibv_grh.size; at += 2) {
    if (at !== IPV4_AT + 10) sum += view.getUint16(at, true);
  }
  return sum;
}

/** Puts the checksum of RFC 1071 in. */
function withChecksum(grh: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let sum = sumOfWords(grh);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  new DataView(grh.buffer).setUint16(IPV4_AT + 10, ~sum & 0xffff, true);
  return grh;
}
