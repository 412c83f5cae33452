/** What a reply costs, from the work completion and the GRH of the message it answers. See ../c/replies.h. */

import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  type Gid,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  ReplyPath,
  WorkCompletions,
} from "../../mod.ts";
import { structs } from "../../ffi/layout.ts";
import { drain } from "../guest/deno/queues.ts";
import { Clock, type Plan } from "./clock.ts";
import { createQp, LIST, PORT, QKEY, SIZE, SLOT } from "./datagrams.ts";

const IPPROTO_UDP = 17;
const { fields } = structs.ibv_grh;
/** The part of an address that tells the peers apart: its last 4 bytes. */
const LAST = fields.sgid.offset + 12;

const known = new Map<string, MemoryRegion>();

/** GRHs of datagrams to a GID, from as many of its neighbours. */
function headers(context: Context, index: number, peers: number): MemoryRegion {
  const key = `${index} ${peers}`;
  const made = known.get(key) ?? makeHeaders(context, index, peers);
  known.set(key, made);
  return made;
}

function makeHeaders(context: Context, index: number, peers: number): MemoryRegion {
  const { gid } = context.gidTable(PORT).at(index)!;
  return grhs(new ProtectionDomain(context), gid, peers, (i) => i);
}

/** GRHs of datagrams to a GID, one behind the other, from neighbours of it. */
export function grhs(
  pd: ProtectionDomain,
  gid: Gid,
  count: number,
  peerOf: (i: number) => number,
): MemoryRegion {
  const mr = new MemoryRegion(pd, count * Grh.SIZE, AccessFlags.LOCAL_WRITE);
  const bytes = mr.bytes();
  const memory = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < count; i++) {
    const base = i * Grh.SIZE;
    memory.setUint32(base + fields.version_tclass_flow.offset, 6 << 28);
    memory.setUint16(base + fields.paylen.offset, SIZE);
    memory.setUint8(base + fields.next_hdr.offset, IPPROTO_UDP);
    memory.setUint8(base + fields.hop_limit.offset, 64);
    bytes.set(gid.bytes, base + fields.sgid.offset);
    bytes.set(gid.bytes, base + fields.dgid.offset);
    memory.setUint32(base + LAST, 0x10000 + peerOf(i));
  }
  return mr;
}

/** The completion of a datagram that the device has sent to itself. */
function received(context: Context): WorkCompletions {
  const pd = new ProtectionDomain(context);
  const [sendCq, recvCq] = [1, 1].map((cqe) =>
    new CompletionQueue(context, { cqe, channel: null })
  );
  const qp = createQp(pd, sendCq!, recvCq!);
  const mr = new MemoryRegion(pd, SLOT, AccessFlags.LOCAL_WRITE);
  qp.postRecv({ sge: mr.slice(0, SLOT) });
  const grh = { dgid: context.queryGid(PORT, 0), sgidIndex: 0, hopLimit: 64 };
  const ah = new AddressHandle(pd, { portNum: PORT, grh });
  qp.postSend({ sge: mr.slice(0, SIZE), ah, remoteQpn: qp.qpNum, remoteQkey: QKEY });
  const batch = new WorkCompletions(1);
  if (drain(recvCq!, batch, 1) < 1) throw new Error("Cannot measure: the datagram is lost");
  return batch;
}

const paths = new Map<number, ReplyPath>();

function pathFor(context: Context, maxPeers: number): ReplyPath {
  const known = paths.get(maxPeers);
  if (known !== undefined) return known;
  const path = new ReplyPath(new ProtectionDomain(context), { port: PORT, maxPeers });
  paths.set(maxPeers, path);
  return path;
}

/** The address alone, to the GID at that place of the table; it looks for device events as often as polls of 32 would. */
export function attributes(context: Context, plan: Plan, index: number): number {
  const path = pathFor(context, 1);
  path.refresh();
  const batch = received(context);
  const memory = headers(context, index, 1);
  const attr = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size));
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      if (i % LIST === 0) path.refresh();
      if (path.writeAttr(attr, 0, batch, 0, memory, 0) !== 0) throw new Error("no address");
    }
  }
  return clock.middle;
}

const PEERS = 10_000;
/** The path keeps so few handles that each peer's is gone when it comes again. */
const KEPT = 1024;

/** Rounds go on with the peer that comes next. */
let next = 0;

/** The handle, for peers that are not known. */
export function replyToUnknown(context: Context, plan: Plan): number {
  const path = pathFor(context, KEPT);
  const batch = received(context);
  const memory = headers(context, 0, PEERS);
  const clock = new Clock(plan);
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      if (i % LIST === 0) path.refresh();
      path.toAt(batch, 0, memory, next % PEERS * Grh.SIZE);
      next++;
    }
  }
  return clock.middle;
}
