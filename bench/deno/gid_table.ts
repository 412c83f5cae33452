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

const { fields } = structs.ibv_grh;

/** Packets that were sent to each GID of the port in turn. Port 1 of noop1 has 1, port 2 has 2, port 3 has 4. */
export function deriveAddress(_: Context, plan: Plan, gids: number): number {
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
    memory.setUint8(i * Grh.SIZE + fields.next_hdr.offset, 17);
    bytes.set(gid, i * Grh.SIZE + fields.sgid.offset);
    bytes.set(gid, i * Grh.SIZE + fields.dgid.offset);
  }
  const cq = new CompletionQueue(context, { cqe: LIST, channel: null, compVector: RECEIVES });
  const batch = new WorkCompletions(LIST);
  const attr = new DataView(new ArrayBuffer(structs.ibv_ah_attr.size));
  const clock = new Clock(plan);
  let errors = 0;
  while (clock.part()) {
    for (let i = 0; i < plan.count; i++) {
      if ((i & (LIST - 1)) === 0) cq.pollInto(batch);
      const offset = (i & (gids - 1)) * Grh.SIZE;
      errors |= path.writeAttr(attr, 0, batch, i & (LIST - 1), mr, offset);
    }
  }
  if (errors !== 0) throw new Error("Cannot measure: an address was refused");
  consume(attr.getUint32(0));
  return clock.middle;
}
