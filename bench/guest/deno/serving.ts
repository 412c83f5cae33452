/** A server that sleeps until datagrams come, and how long waking up takes it. See ../c/serving.h. */

import {
  AccessFlags,
  CompletionChannel,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  type QueuePair,
  RecvRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import type { Plan } from "../../deno/clock.ts";
import { createQp, LIST } from "../../deno/datagrams.ts";
import { GRH, SLOT } from "./queues.ts";

const CLOCK_MONOTONIC = 1;

const clocks = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
});

const timespec = new BigInt64Array(2);

/** The clock that the sender stamps with. */
function now(): bigint {
  clocks.symbols.clock_gettime(CLOCK_MONOTONIC, timespec);
  return timespec[0]! * 1_000_000_000n + timespec[1]!;
}

class Server {
  readonly cq: CompletionQueue;
  readonly #qp: QueuePair;
  readonly #recvs = new RecvRequestList({ capacity: LIST });
  readonly #received: DataView;
  #waited: number[] = [];

  constructor(context: Context) {
    const pd = new ProtectionDomain(context);
    // A channel of its own: events that others have left would wake it.
    const channel = new CompletionChannel(context);
    const cq = this.cq = new CompletionQueue(context, { cqe: 2 * LIST, channel });
    this.#qp = createQp(pd, cq, cq);
    const mr = new MemoryRegion(pd, LIST * SLOT, AccessFlags.LOCAL_WRITE);
    const bytes = mr.bytes();
    this.#received = new DataView(bytes.buffer, bytes.byteOffset);
    for (let i = 0; i < LIST; i++) {
      this.#recvs.set(i, { wrId: i, sge: mr.slice(i * SLOT, SLOT) });
    }
    this.#qp.postRecv(this.#recvs);
  }

  /** Tells where to send to. */
  announce(): void {
    // The sender of the last round was ended late.
    for (const { wrId } of this.cq.poll(LIST)) this.#qp.postRecv(this.#recvs, Number(wrId), 1);
    this.#waited = [];
    console.log(this.#qp.qpNum);
  }

  /** Notes how long it took from the stamp of a datagram until then, and posts its receive again. */
  note(slot: number, then: bigint): void {
    this.#waited.push(Number(then - this.#received.getBigUint64(slot * SLOT + GRH, true)));
    this.#qp.postRecv(this.#recvs, slot, 1);
  }

  get received(): number {
    return this.#waited.length;
  }

  /** The middle one of all waits. */
  get middle(): number {
    return this.#waited.toSorted((a, b) => a - b)[this.#waited.length >> 1]!;
  }
}

let server: Server | undefined;

/** Asleep in `completions()` until datagrams come: nanoseconds from the posting of one until it is here. */
export async function serve(context: Context, { count }: Plan): Promise<number> {
  server ??= new Server(context);
  server.announce();
  for await (const wc of server.cq.completions()) {
    const then = now();
    server.note(Number(wc.check().wrId), then);
    if (server.received === count) break;
  }
  return server.middle;
}

let blocking: Server | undefined;

/** Asleep in `waitSync()`. */
export function serveSync(context: Context, { count }: Plan): number {
  blocking ??= new Server(context);
  const { cq } = blocking;
  const batch = new WorkCompletions(LIST);
  blocking.announce();
  while (blocking.received < count) {
    cq.waitSync();
    const then = now();
    const polled = cq.pollInto(batch);
    for (let i = 0; i < polled; i++) {
      if (batch.status(i) !== 0) batch.at(i).check();
      blocking.note(batch.wrIdLow(i), then);
    }
  }
  return blocking.middle;
}
