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
import { quote } from "../internal/checks.ts";
import { MAX_SECONDS, number, program } from "./support/command_line.ts";
import { gidIndexOf, PORT, PORT_HELP, socketAddress, socketOptions } from "./support/ends.ts";
import { untilInterrupted, within } from "./support/signals.ts";
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

/** Shares memory with Workers. */
export const main = program({
  name: "workers",
  help: HELP,
  options: { ...PORT, workers: number("w", 2, 1, 64), timeout: number("t", 30, 1, MAX_SECONDS) },
  run: async (options) => {
    const { workers: count, port, timeout } = options;
    using context = Context.open(options.device);
    const pd = new ProtectionDomain(context);
    const cq = new CompletionQueue(context, { cqe: count });
    const cap = { maxSendWr: 1, maxRecvWr: count };
    const qp = new QueuePair(pd, { type: QpType.UD, sendCq: cq, recvCq: cq, cap });
    qp.activateUd({ portNum: port, gidIndex: gidIndexOf(context, options), qkey: QKEY });
    // Only the main thread may register a buffer: a Worker's buffers are freed when it is terminated, and the device
    // might still write to them. A Worker registers new memory: new MemoryRegion(pd, length, access).
    const memory = new SharedArrayBuffer(count * SLOT_SIZE);
    const mr = new MemoryRegion(pd, memory, AccessFlags.LOCAL_WRITE);
    for (let slot = 0; slot < count; slot++) {
      const offset = slot * SLOT_SIZE;
      qp.postRecv({ wrId: offset, sge: mr.slice(offset, SLOT_SIZE) });
    }
    using stack = new DisposableStack();
    const workers = Array.from(
      { length: count },
      () => stack.adopt(startWorker(), (worker) => worker.terminate()),
    );
    using interruption = untilInterrupted();
    const wait = { seconds: timeout, signal: interruption.signal };
    using deadline = within(wait, "The Workers did not end");
    const { signal } = deadline;
    const start = { socket: { ...socketOptions(options), qkey: QKEY }, memory };
    await Promise.all(workers.map((worker, index) => {
      const job = { address: socketAddress(qp), text: `hello from worker ${index}` };
      return ask(worker, { kind: "start", ...start, ...job }, signal);
    }));
    let received = 0;
    for await (const wc of cq.completions({ signal })) {
      const { wrId, byteLen } = wc.check();
      // Any Worker can read any slot. Only the place is sent to it.
      const reader = ++received % count;
      const place = { offset: Number(wrId) + Grh.SIZE, length: byteLen - Grh.SIZE };
      const text = await ask(workers[reader]!, { kind: "read", ...place }, signal);
      console.log(`worker ${reader} reads ${quote(text)} (${place.length} bytes)`);
      if (received === count) break;
    }
    // A Worker closes its objects itself. Nobody else can, and terminate() does not.
    await Promise.all(workers.map((worker) => ask(worker, { kind: "stop" }, signal)));
  },
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
