/** The address of a packet's sender, by the size of the GID table. */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  ReplyPath,
  WorkCompletions,
} from "../../mod.ts";
import { structs } from "../../ffi/layout.ts";
import { Clock, consume, type Plan } from "./clock.ts";
import { LIST, PORT } from "./datagrams.ts";
import { RECEIVES } from "./provider.ts";

const IPPROTO_UDP = 17;
const { fields } = structs.ibv_grh;

interface Table {
  readonly path: ReplyPath;
  readonly mr: MemoryRegion;
  readonly batch: WorkCompletions;
}

const tables = new Map<number, Table>();

/** A path of a port of noop1, and packets that were sent to each GID. Port 1 has 1 GID, port 2 has 2, port 3 has 4. */
function makeTable(gids: number): Table {
  const context = Context.open("noop1");
  const port = PORT + Math.log2(gids);
  const pd = new ProtectionDomain(context);
  const path = new ReplyPath(pd, { port, maxPeers: 1 });
  const mr = new MemoryRegion(pd, gids * Grh.SIZE, AccessFlags.LOCAL_WRITE);
  const bytes = mr.bytes();
  const memory = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < gids; i++) {
    const gid = context.queryGid(port, i).bytes;
    memory.setUint32(i * Grh.SIZE, 6 << 28);
    memory.setUint8(i * Grh.SIZE + fields.next_hdr.offset, IPPROTO_UDP);
    bytes.set(gid, i * Grh.SIZE + fields.sgid.offset);
    bytes.set(gid, i * Grh.SIZE + fields.dgid.offset);
  }
  const cq = new CompletionQueue(context, { cqe: LIST, channel: null, compVector: RECEIVES });
  const batch = new WorkCompletions(LIST);
  cq.pollInto(batch);
  return { path, mr, batch };
}

/** The address alone, for packets to all GIDs in turn. It looks for device events as often as polls of 32 would. */
export function deriveAddress(_: Context, plan: Plan, gids: number): number {
  const table = tables.get(gids) ?? makeTable(gids);
  tables.set(gids, table);
  const { path, mr, batch } = table;
  const attr = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size));
  const clock = new Clock(plan);
  let errors = 0;
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      const at = i & (LIST - 1);
      if (at === 0) path.refresh();
      errors |= path.writeAttr(attr, 0, batch, at, mr, (i & (gids - 1)) * Grh.SIZE);
    }
  }
  if (errors !== 0) throw new Error("Cannot measure: an address was refused");
  consume(attr.getUint32(0));
  return clock.middle;
}
