// The RC peer that peer_killed_test.ts kills. It makes its queue pair last: the kernel then ends that first.
import {
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpType,
  QueuePair,
} from "../../../mod.ts";
import { hear, say } from "../test_lines.ts";
import { ACCESS, DEPTH, LENGTH, PATIENT } from "./killed.ts";

const [device, gidIndex, action] = Deno.args as [string, string, string];
const context = Context.open(device);
const pd = new ProtectionDomain(context);
const cq = new CompletionQueue(context, { cqe: 4 * DEPTH });
const mr = new MemoryRegion(pd, LENGTH, ACCESS);
const cap = { maxSendWr: DEPTH, maxRecvWr: DEPTH };
const qp = new QueuePair(pd, { type: QpType.RC, sendCq: cq, recvCq: cq, cap });
qp.init({ port: 1, gidIndex: Number(gidIndex), qpAccessFlags: ACCESS });
say({ address: qp.address, addr: String(mr.addr), rkey: mr.rkey });
qp.activateRc(await hear() as QpAddress, PATIENT);

const sge = mr.slice(0);
const post = action === "send" ? () => qp.postSend({ sge }) : () => qp.postRecv({ sge });
for (let i = 0; i < DEPTH; i++) post();
say("ready");
for await (const wc of cq.completions()) {
  wc.check();
  post();
}
