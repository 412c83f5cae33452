/** How long it takes to wake up. See ../c/waiting.h. */

import { AccessFlags, type Context, QpType, RecvRequests } from "../../mod.ts";

const PORT = 1;
const QKEY = 0x1111_1111;
const GRH = 40;
const LIST = 32;
const SLOT = 128;
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

/** Asleep in `completions()` until a datagram comes: nanoseconds from its posting until it is here, the middle one. */
export async function wakeUp(context: Context, count: number): Promise<number> {
  using pd = context.allocPd();
  using cq = context.createCq({ cqe: 64 });
  const cap = { maxSendWr: 1, maxRecvWr: 32 };
  using qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap });
  qp.activateUd({ port: PORT, qkey: QKEY });
  using mr = pd.registerMemory(LIST * SLOT, AccessFlags.LOCAL_WRITE);
  const bytes = mr.bytes();
  const received = new DataView(bytes.buffer, bytes.byteOffset);
  const recvs = new RecvRequests({ capacity: LIST });
  for (let i = 0; i < LIST; i++) recvs.set(i, { wrId: BigInt(i), sge: mr.slice(i * SLOT, SLOT) });
  qp.postRecvs(recvs);
  const waited: number[] = [];
  console.log(qp.qpNum);
  for await (const wc of cq.completions()) {
    const slot = Number(wc.check().wrId);
    waited.push(Number(now() - received.getBigUint64(slot * SLOT + GRH, true)));
    qp.postRecvs(recvs, 1, slot);
    if (waited.length === count) break;
  }
  return waited.sort((a, b) => a - b)[count >> 1]!;
}

/** What a call on another thread costs in Deno, whatever it does: the least that waiting takes. */
export async function wakeUpFloor(_context: Context, count: number): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < count; i++) await libc.symbols.getppid();
  return (performance.now() - start) * 1e6 / count;
}
