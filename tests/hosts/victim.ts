// The process of the second host that is lost. It has no import map.
import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpType,
  QueuePair,
} from "../../mod.ts";
import { listenRc, listenUd } from "../../net/mod.ts";
import { CONNECT, DEPTH, LENGTH, PATIENT, QKEY } from "./lost.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ } = AccessFlags;
const ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ;
const [device, gidIndex] = [Deno.args[0]!, Number(Deno.args[1])];

const context = Context.open(device);
const pd = new ProtectionDomain(context);
const cq = new CompletionQueue(context, { cqe: 4 * DEPTH });
const mr = new MemoryRegion(pd, LENGTH, ACCESS);
const cap = { maxSendWr: DEPTH, maxRecvWr: DEPTH };
const qp = new QueuePair(pd, { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap });
qp.init({ portNum: 1, gidIndex, qpAccessFlags: ACCESS });
const sge = mr.sge();
for (let i = 0; i < DEPTH; i++) qp.postRecv({ sge });

const options = { ...CONNECT, device, gidIndex };
const listener = await listenRc({ ...options, hostname: "0.0.0.0", keepAlive: 0 });
const ud = await listenUd({ device, gidIndex, qkey: QKEY });
console.log(JSON.stringify({
  address: qp.address,
  addr: String(mr.addr),
  rkey: mr.rkey,
  tcpPort: listener.addr.port,
  ud: ud.addr,
}));
qp.activateRc(await new Response(Deno.stdin.readable).json() as QpAddress, PATIENT);
console.log('"ready"');
await Promise.all([receive(), serve(), answer()]);

async function receive(): Promise<void> {
  for await (const wc of cq.completions()) {
    wc.check();
    qp.postRecv({ sge });
  }
}

async function serve(): Promise<void> {
  for await (const conn of listener) {
    try {
      for await (const message of conn) await conn.send(message);
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    }
  }
}

async function answer(): Promise<void> {
  for await (const [message, from] of ud) await ud.send(message, from);
}
