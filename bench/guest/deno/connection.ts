/**
 * One end of a reliable connection that does what ib_send_lat of perftest does. It prints its address, reads that of the
 * other end, and then reads lines "ROLE SIZE COUNT". The server says that it is ready. Each end then prints the
 * nanoseconds of half a round trip.
 */

import {
  AccessFlags,
  CompletionQueue,
  Context,
  MemoryRegion,
  ProtectionDomain,
  type QpAddress,
  QpType,
  QueuePair,
  RecvRequestList,
  SendRequestList,
  WorkCompletions,
} from "../../../mod.ts";
import { linesOf } from "../../process.ts";
import { PORT } from "../../deno/datagrams.ts";

const TX_DEPTH = 128;
const RX_DEPTH = 512;
/**
 * The clock is read once in so many messages. perftest reads a counter of the processor; here it is a call, which takes a
 * microsecond in an emulated guest.
 */
const GROUP = 8;
/** perftest leaves out the largest samples. */
const TAIL = 2;

/** Half of the memory is sent from, the other half received into. */
const HALF = 4096;

class Connection {
  readonly #sendCq: CompletionQueue;
  readonly #recvCq: CompletionQueue;
  readonly #qp: QueuePair;
  readonly #mr: MemoryRegion;
  readonly #sends = new SendRequestList({ capacity: 1 });
  readonly #recvs = new RecvRequestList({ capacity: RX_DEPTH });
  readonly #one = new WorkCompletions(1);

  constructor(context: Context) {
    const pd = new ProtectionDomain(context);
    const sendCq = this.#sendCq = new CompletionQueue(context, { cqe: TX_DEPTH, channel: null });
    const recvCq = this.#recvCq = new CompletionQueue(context, { cqe: RX_DEPTH, channel: null });
    const cap = { maxSendWr: TX_DEPTH, maxRecvWr: RX_DEPTH };
    this.#qp = new QueuePair(pd, { type: QpType.RC, sendCq, recvCq, cap });
    this.#mr = new MemoryRegion(pd, 2 * HALF, AccessFlags.LOCAL_WRITE);
    this.#qp.init({ port: PORT, gidIndex: 0 });
    for (let i = 0; i < RX_DEPTH; i++) this.#recvs.set(i, { sge: this.#mr.slice(HALF, HALF) });
    this.#qp.postRecv(this.#recvs);
  }

  get address(): QpAddress {
    return this.#qp.address;
  }

  connect(remote: QpAddress): void {
    this.#qp.activateRc(remote);
  }

  /** Ping-pong by sends, as ib_send_lat. */
  sendLatency(isClient: boolean, size: number, count: number): number {
    this.#sends.set(0, { sge: this.#mr.slice(0, size) });
    const posted = new Float64Array(Math.ceil(count / GROUP));
    let sent = 0;
    let received = 0;
    while (sent < count || received < count) {
      if (received < count && !(isClient && sent < 1)) {
        this.#wait(this.#recvCq);
        this.#qp.postRecv(this.#recvs, 0, 1);
        received++;
      }
      if (sent < count) {
        if (sent % GROUP === 0) posted[sent / GROUP] = performance.now();
        sent++;
        this.#qp.postSend(this.#sends, 0, 1);
        this.#wait(this.#sendCq);
      }
    }
    return halfRoundTrip(posted);
  }

  #wait(cq: CompletionQueue): void {
    const one = this.#one;
    while (cq.pollInto(one) === 0);
    if (one.status(0) !== 0) throw one.at(0).check();
  }
}

/** The median, as perftest computes it. */
function halfRoundTrip(posted: Float64Array): number {
  const samples = posted.subarray(1).map((time, i) => time - posted[i]!).sort();
  const kept = samples.subarray(0, samples.length - TAIL);
  return kept[kept.length >> 1]! * 1e6 / GROUP / 2;
}

using context = Context.open();
const connection = new Connection(context);
console.log(JSON.stringify(connection.address));
const lines = linesOf(Deno.stdin.readable);
connection.connect(JSON.parse((await lines.next()).value!));
console.log("connected");
for await (const line of lines) {
  const [role, size, count] = line.split(" ");
  const isClient = role === "client";
  if (!isClient) console.log("ready");
  console.log(connection.sendLatency(isClient, Number(size), Number(count)));
}
