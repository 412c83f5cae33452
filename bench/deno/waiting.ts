/** How long it takes to wake up. See ../c/waiting.h. */

import {
  AccessFlags,
  CompletionQueue,
  type Context,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  RecvRequests,
  WorkCompletions,
} from "../../mod.ts";
import { libc } from "../../ffi/libc.ts";
import type { Plan } from "./clock.ts";

const PORT = 1;
const QKEY = 0x1111_1111;
const GRH = 40;
const LIST = 32;
const SLOT = 128;
const CLOCK_MONOTONIC = 1;
const POLLIN = 1;

const clocks = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
});

const timespec = new BigInt64Array(2);

/** The clock that the sender stamps with. */
function now(): bigint {
  clocks.symbols.clock_gettime(CLOCK_MONOTONIC, timespec);
  return timespec[0]! * 1_000_000_000n + timespec[1]!;
}

/** Receives stamped datagrams into slots that are posted again once they were looked at. */
class Receiver implements Disposable {
  readonly cq: CompletionQueue;
  readonly #qp: QueuePair;
  readonly #recvs = new RecvRequests({ capacity: LIST });
  readonly #received: DataView;
  readonly #owned: DisposableStack;
  readonly waited: number[] = [];

  constructor(context: Context) {
    using stack = new DisposableStack();
    const pd = stack.use(new ProtectionDomain(context));
    this.cq = stack.use(new CompletionQueue(context, { cqe: 2 * LIST }));
    const cap = { maxSendWr: 1, maxRecvWr: LIST };
    this.#qp = stack.use(
      new QueuePair(pd, { type: QpType.UD, sendCq: this.cq, recvCq: this.cq, cap }),
    );
    this.#qp.activateUd({ port: PORT, qkey: QKEY });
    const mr = stack.use(new MemoryRegion(pd, LIST * SLOT, AccessFlags.LOCAL_WRITE));
    const bytes = mr.bytes();
    this.#received = new DataView(bytes.buffer, bytes.byteOffset);
    for (let i = 0; i < LIST; i++) {
      this.#recvs.set(i, { wrId: i, sge: mr.slice(i * SLOT, SLOT) });
    }
    this.#qp.postRecv(this.#recvs);
    this.#owned = stack.move();
  }

  /** Tells where to send to. */
  announce(): void {
    console.log(this.#qp.qpNum);
  }

  /** Notes how long it took from the stamp in a slot until then. */
  note(slot: number, then: bigint): void {
    this.waited.push(Number(then - this.#received.getBigUint64(slot * SLOT + GRH, true)));
    this.#qp.postRecv(this.#recvs, 1, slot);
  }

  /** The middle one of all. */
  get middle(): number {
    return this.waited.sort((a, b) => a - b)[this.waited.length >> 1]!;
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** Asleep in `completions()` until a datagram comes: nanoseconds from its posting until it is here. */
export async function wakeUp(context: Context, { count }: Plan): Promise<number> {
  using receiver = new Receiver(context);
  receiver.announce();
  for await (const wc of receiver.cq.completions()) {
    const then = now();
    receiver.note(Number(wc.check().wrId), then);
    if (receiver.waited.length === count) break;
  }
  return receiver.middle;
}

/** Asleep in a bare nonblocking call of poll(2): until Deno goes on behind it, which is the least it can take. */
export async function wakeUpFloor(context: Context, { count }: Plan): Promise<number> {
  using receiver = new Receiver(context);
  const { cq } = receiver;
  const channel = cq.channel!;
  const descriptors = Int32Array.of(channel.fd, POLLIN);
  const batch = new WorkCompletions(LIST);
  cq.reqNotify();
  receiver.announce();
  while (receiver.waited.length < count) {
    await libc().poll(descriptors, 1n, -1);
    const then = now();
    await channel.getCqEvent();
    cq.reqNotify();
    const polled = cq.pollInto(batch);
    for (let i = 0; i < polled; i++) receiver.note(batch.wrIdLow(i), then);
  }
  return receiver.middle;
}
