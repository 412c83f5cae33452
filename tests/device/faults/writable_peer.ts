// Lets a peer write its memory, until it is killed.
import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpType,
  QueuePair,
} from "../../../mod.ts";

const [device = "", gidIndex] = Deno.args;
using context = Context.open(device);
using pd = new ProtectionDomain(context);
using cq = new CompletionQueue(context, { cqe: 4 });
using mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE);
using qp = new QueuePair(pd, {
  qpType: QpType.RC,
  sendCq: cq,
  recvCq: cq,
  cap: { maxSendWr: 1, maxRecvWr: 1 },
});
const qpAccessFlags = AccessFlags.REMOTE_WRITE;
qp.init({ portNum: 1, gidIndex: Number(gidIndex), qpAccessFlags });
console.log(
  JSON.stringify({ address: qp.address, remoteAddr: String(mr.addr), rkey: mr.rkey }),
);
qp.activateRc(await new Response(Deno.stdin.readable).json() as QpAddress);
console.log('"ready"');
setInterval(() => {}, 1000);
