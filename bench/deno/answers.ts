/**
 * A loop that answers datagrams: polls them, finds the handles of their senders, posts the answers, polls their
 * completions. ../c/answers.h has the same peers.
 */

import {
  AccessFlags,
  CompletionQueue,
  type Context,
  Grh,
  MemoryRegion,
  type ProtectionDomain,
  ReplyPath,
  WorkCompletions,
} from "../../mod.ts";
import { structs } from "../../ffi/layout.ts";
import { Clock, consume, type Plan, wholeLists } from "./clock.ts";
import { datagrams, LIST, PORT, QKEY, SIZE } from "./datagrams.ts";
import { readLow } from "./posting.ts";
import { RECEIVES } from "./provider.ts";

const SLOTS = 1 << 17;
const IPPROTO_UDP = 17;
const FIRST_PEER = 0x1_0000;
const { fields } = structs.ibv_grh;
/** The part of an address that tells the peers apart: its last 4 bytes. */
const LAST = fields.sgid.offset + 12;

/** Draws the peer of each datagram. */
export type Traffic = (random: () => number) => number;

/** Each peer is as likely as the others. */
export function uniform(peers: number): Traffic {
  return (random) => random() % peers;
}

/** A peer's share is inverse to its rank. */
export function zipf(peers: number): Traffic {
  const sums = new Float64Array(peers);
  let total = 0;
  for (let i = 0; i < peers; i++) sums[i] = total += 1 / (i + 1);
  return (random) => {
    const drawn = random() / 2 ** 32 * total;
    let low = 0;
    let high = peers - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function xorshift(): () => number {
  let state = 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>>= 0;
  };
}

/** The memory of a ring of receives. */
function received(context: Context, pd: ProtectionDomain, traffic: Traffic): MemoryRegion {
  const mr = new MemoryRegion(pd, SLOTS * Grh.SIZE, AccessFlags.LOCAL_WRITE);
  const bytes = mr.bytes();
  const memory = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const gid = context.queryGid(PORT, 0).bytes;
  const random = xorshift();
  for (let i = 0; i < SLOTS; i++) {
    const base = i * Grh.SIZE;
    memory.setUint32(base + fields.version_tclass_flow.offset, 6 << 28);
    memory.setUint16(base + fields.paylen.offset, SIZE);
    memory.setUint8(base + fields.next_hdr.offset, IPPROTO_UDP);
    memory.setUint8(base + fields.hop_limit.offset, 64);
    bytes.set(gid, base + fields.sgid.offset);
    bytes.set(gid, base + fields.dgid.offset);
    memory.setUint32(base + LAST, FIRST_PEER + traffic(random));
  }
  return mr;
}

interface Answering {
  readonly path: ReplyPath;
  readonly mr: MemoryRegion;
  readonly receives: CompletionQueue;
}

let made: Answering | undefined;

function answering(context: Context, traffic: Traffic, maxPeers: number): Answering {
  if (made !== undefined) return made;
  const { pd } = datagrams(context);
  const path = new ReplyPath(pd, { port: PORT, maxPeers });
  const mr = received(context, pd, traffic);
  const init = { cqe: 2 * LIST, channel: null, compVector: RECEIVES };
  return made = { path, mr, receives: new CompletionQueue(context, init) };
}

let at = 0;

/** Answers `size` datagrams at a time; for one. A process knows one kind of traffic. */
export function answer(
  context: Context,
  plan: Plan,
  size: number,
  traffic: Traffic,
  maxPeers: number,
): number {
  const { path, mr, receives } = answering(context, traffic, maxPeers);
  const { qp, cq, sends } = datagrams(context);
  const batch = new WorkCompletions(size);
  const sent = new WorkCompletions(size);
  const whole = wholeLists(plan, size);
  meetPeers(receives, { path, mr });
  const clock = new Clock(whole);
  let sum = 0;
  while (clock.part()) {
    for (let done = 0; done < whole.count; done += size) {
      const n = receives.pollInto(batch);
      for (let i = 0; i < n; i++) {
        if (batch.status(i) !== 0) throw batch.at(i).check();
        path.setAh(sends, i, batch, i, mr, at * Grh.SIZE);
        sends.setRemote(i, batch.srcQp(i), QKEY);
        at = (at + 1) & (SLOTS - 1);
      }
      qp.postSend(sends, 0, n);
      sum = (sum + readLow(sent, cq.pollInto(sent))) | 0;
    }
  }
  consume(sum);
  return clock.middle;
}

/** Makes the handles of all peers that the path has room for: the rows are of known peers. */
function meetPeers(receives: CompletionQueue, { path, mr }: Pick<Answering, "path" | "mr">): void {
  if (at > 0 || path.size > 0) return;
  const batch = new WorkCompletions(1);
  receives.pollInto(batch);
  for (let i = 0; i < SLOTS && path.size < path.maxPeers; i++) {
    path.toAt(batch, 0, mr, i * Grh.SIZE);
  }
}
