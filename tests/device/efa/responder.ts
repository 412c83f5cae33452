// The module's side of the comparison with tests/c/efa_responder.c: what that program does, by a reply path.

import { EfaCompletionQueue, type EfaWorkCompletion, SrdQueuePair } from "../../../efa.ts";
import {
  AccessFlags,
  Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  ReplyPath,
  WcOpcode,
} from "../../../mod.ts";
import { ANSWER, HEADROOM, MESSAGE, STRANGER } from "./bed.ts";

const [device, kind, count, round, remoteQkey] = Deno.args as [string, string, ...string[]];
const [SLOTS, SLOT] = [64, 128];
const [isReliable, qkey] = [kind === "srd", Number(remoteQkey)];
using context = Context.open(device);
using pd = new ProtectionDomain(context);
using cq = new EfaCompletionQueue(context, { cqe: 4 * SLOTS });
const init = { sendCq: cq, recvCq: cq, cap: { maxSendWr: SLOTS, maxRecvWr: SLOTS } };
const qp = isReliable
  ? new SrdQueuePair(pd, init)
  : new QueuePair(pd, { ...init, type: QpType.UD });
using _ = qp;
if (qp instanceof SrdQueuePair) qp.activate({ qkey });
else qp.activateUd({ port: 1, qkey });
using mr = new MemoryRegion(pd, 2 * SLOTS * SLOT, AccessFlags.LOCAL_WRITE);

function receive(slot: number): void {
  qp.postRecv({ wrId: slot, sge: mr.slice(slot * SLOT, SLOT) });
}

function answer(path: ReplyPath, wc: EfaWorkCompletion): void {
  const slot = Number(wc.wrId);
  const at = (SLOTS + slot) * SLOT;
  const ah = path.to(wc);
  const reply = mr.bytes(at, ANSWER);
  reply.set(mr.bytes(slot * SLOT + (isReliable ? 0 : HEADROOM), MESSAGE));
  reply.set(path.attr(wc).grh.dgid.bytes, MESSAGE);
  const numbers = new DataView(reply.buffer, reply.byteOffset + MESSAGE + 16, 8);
  numbers.setUint32(0, wc.srcQp, true);
  numbers.setUint32(4, wc.byteLen, true);
  const sge = mr.slice(at, ANSWER);
  qp.postSend({ wrId: slot, sge, ah, remoteQpn: wc.srcQp, remoteQkey: qkey });
}

async function serve(count: number, round: number): Promise<{ strangers: number; known: number }> {
  let path = new ReplyPath(pd, { port: 1 });
  let [received, pending, strangers] = [0, 0, 0];
  let last: EfaWorkCompletion | undefined;
  for await (const wc of cq.completions()) {
    if (wc.check().opcode === WcOpcode.SEND) {
      pending--;
      receive(Number(wc.wrId));
    } else {
      if (wc.slid === STRANGER) strangers++;
      if (++received % round === 0) last = wc;
      else {
        answer(path, wc);
        pending++;
      }
    }
    if (pending > 0) continue;
    if (last !== undefined) {
      // A handle of the old path would make the sender known, and the next round has strangers again.
      const gid = path.attr(last).grh.dgid;
      path.close();
      path = new ReplyPath(pd, { port: 1 });
      answer(path, { ...last, slid: STRANGER, sgid: gid } as EfaWorkCompletion);
      pending++;
      last = undefined;
    } else if (received === count) break;
  }
  path.close();
  return { strangers, known: received - strangers };
}

for (let slot = 0; slot < SLOTS; slot++) receive(slot);
console.log(JSON.stringify({ qpn: qp.qpNum }));
console.log(JSON.stringify(await serve(Number(count), Number(round))));
