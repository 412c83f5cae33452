/** How long it takes to wake up. See ../c/waiting.h. */

import { AccessFlags, type Context, QpType } from "../../mod.ts";

const PORT = 1;
const QKEY = 0x1111_1111;
const GRH = 40;
const CLOCK_MONOTONIC = 1;

const libc = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
  getppid: { parameters: [], result: "i32", nonblocking: true },
});

const timespec = new BigInt64Array(2);

/** The clock that the sender stamps with. */
function now(): bigint {
  libc.symbols.clock_gettime(CLOCK_MONOTONIC, timespec);
  return timespec[0]! * 1_000_000_000n + timespec[1]!;
}

/** Asleep in `completions()` until a datagram comes: nanoseconds from its posting until it is in our hands. */
export async function wakeUp(context: Context, count: number): Promise<number> {
  using pd = context.allocPd();
  using cq = context.createCq({ cqe: 64 });
  const cap = { maxSendWr: 1, maxRecvWr: 32 };
  using qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  using mr = pd.registerMemory(128, AccessFlags.LOCAL_WRITE);
  const stamp = mr.bytes(GRH, 8);
  const received = new DataView(stamp.buffer, stamp.byteOffset);
  const request = { wrId: 0n, sge: mr.slice(0, 104) };
  qp.postRecv(request);
  let waited = 0n;
  let woken = 0;
  console.log(qp.qpNum);
  for await (const wc of cq.completions()) {
    waited += now() - received.getBigUint64(0, true);
    qp.postRecv(request);
    wc.check();
    if (++woken === count) break;
  }
  return Number(waited) / count;
}

/** What a call on another thread costs in Deno, whatever it does: the least that waiting takes. */
export async function wakeUpFloor(_context: Context, count: number): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < count; i++) await libc.symbols.getppid();
  return (performance.now() - start) * 1e6 / count;
}
