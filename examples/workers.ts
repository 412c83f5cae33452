/**
 * What Workers may share. Objects of verbs stay in their thread: each Worker opens the device itself. Two things can be
 * shared: addresses, which are plain data, and bytes. The main thread registers a `SharedArrayBuffer`. The device writes
 * received messages into it, and Workers read them there, without a copy.
 *
 * ```text
 * worker 1 reads "hello from worker 0" (19 bytes)
 * worker 0 reads "hello from worker 1" (19 bytes)
 * ```
 *
 * @module
 */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
} from "@rdma/ibverbs";
import {
  inTime,
  PORT,
  PORT_HELP,
  portOf,
  program,
  untilInterrupted,
  whole,
} from "./support/program.ts";
import type { Request } from "./workers/worker.ts";

const HELP = `Workers send messages, and read those of each other in shared memory.

  deno run --allow-ffi --allow-read examples/workers.ts [OPTIONS]

  -w, --workers NUMBER    number of Workers (default 2)
  -t, --timeout SECONDS   how long to wait for the Workers (default 30)
${PORT_HELP}
  -h, --help              show this text
`;

const QKEY = 0x1111_1111;
const SLOT_SIZE = Grh.SIZE + 64;

const OPTIONS = {
  ...PORT,
  workers: { type: "string", short: "w", default: "2" },
  timeout: { type: "string", short: "t", default: "30" },
} as const;

/** Shares memory with Workers. */
export const main = program("workers", HELP, { options: OPTIONS }, async ({ values }) => {
  const count = whole(values.workers, "workers", 1, 64);
  const seconds = whole(values.timeout, "timeout", 1, 86_400);
  const port = portOf(values);
  using context = Context.open(port.device);
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: count });
  const cap = { maxSendWr: 1, maxRecvWr: count };
  const qp = new QueuePair(pd, { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap });
  const { portNum, gidIndex = context.recommendGid(portNum).gidIndex } = port;
  qp.activateUd({ portNum, gidIndex, qkey: QKEY });
  // Only the main thread may register a buffer: a Worker's buffers are freed when it is terminated, and the device
  // might still write to them. A Worker registers new memory: new MemoryRegion(pd, length, access).
  const memory = new SharedArrayBuffer(count * SLOT_SIZE);
  const mr = new MemoryRegion(pd, memory, AccessFlags.LOCAL_WRITE);
  for (let slot = 0; slot < count; slot++) {
    const offset = slot * SLOT_SIZE;
    qp.postRecv({ wrId: offset, sge: mr.sge(offset, SLOT_SIZE) });
  }
  using stack = new DisposableStack();
  const workers = Array.from(
    { length: count },
    () => stack.adopt(startWorker(), (worker) => worker.terminate()),
  );
  using interruption = untilInterrupted();
  using deadline = inTime(seconds, interruption.signal);
  const { signal } = deadline;
  const { gid, lid, qpNum } = qp.address;
  const address = { transport: "UD", gid: gid!, lid, qpNum, qkey: QKEY } as const;
  const start = { kind: "start", socket: { ...port, qkey: QKEY }, address, memory } as const;
  await Promise.all(workers.map((worker, index) => {
    return ask(worker, { ...start, text: `hello from worker ${index}` }, signal);
  }));
  let received = 0;
  for await (const wc of cq.completions({ signal })) {
    const { wrId, byteLen } = wc.check();
    // Any Worker can read any slot. Only the place is sent to it.
    const reader = ++received % count;
    const place = { offset: Number(wrId) + Grh.SIZE, length: byteLen - Grh.SIZE };
    const text = await ask(workers[reader]!, { kind: "read", ...place }, signal);
    console.log(`worker ${reader} reads ${Deno.inspect(text)} (${place.length} bytes)`);
    if (received === count) break;
  }
  // A Worker closes its objects itself. Nobody else can, and terminate() does not.
  await Promise.all(workers.map((worker) => ask(worker, { kind: "stop" }, signal)));
});

function startWorker(): Worker {
  return new Worker(import.meta.resolve("./workers/worker.ts"), { type: "module" });
}

/** Sends a request to a Worker, and waits for its answer. */
function ask(worker: Worker, request: Request, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  worker.postMessage(request);
  return promise;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);
