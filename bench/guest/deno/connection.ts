/**
 * One end of a reliable connection that does what ib_send_lat, ib_write_lat and ib_write_bw of perftest do. It prints its address,
 * reads that of the other end, and then reads lines "ROLE TEST SIZE COUNT DEPTH MODERATION". The server says that it is ready.
 * Each end then prints its result in nanoseconds: of half a round trip, or of a message.
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
  WrOpcode,
} from "../../../mod.ts";
import { linesOf } from "../../process.ts";
import { PORT } from "./queues.ts";

const TX_DEPTH = 128;
const RX_DEPTH = 512;
/** Completions to poll at a time while the connection is measured for its bandwidth. */
const BATCH = 16;
/**
 * The clock is read once in so many messages. perftest reads a counter of the processor; here it is a call, which takes a
 * microsecond in an emulated guest.
 */
const GROUP = 8;
/** perftest leaves out the largest samples. */
const TAIL = 2;

/** Half of the memory is sent from, the other half received into. */
const HALF = 1024 * 1024;

interface Test {
  readonly isClient: boolean;
  readonly size: number;
  readonly count: number;
  readonly depth: number;
  /** One send in so many has a completion. */
  readonly moderation: number;
}

interface Address {
  readonly qp: QpAddress;
  readonly addr: string;
  readonly rkey: number;
}

class Connection {
  readonly #sendCq: CompletionQueue;
  readonly #recvCq: CompletionQueue;
  readonly #qp: QueuePair;
  readonly #mr: MemoryRegion;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #sends = new SendRequestList({ capacity: 2 });
  readonly #recvs = new RecvRequestList({ capacity: RX_DEPTH });
  readonly #one = new WorkCompletions(1);
  readonly #batch = new WorkCompletions(BATCH);
  #remote: Address | undefined;

  constructor(context: Context) {
    const pd = new ProtectionDomain(context);
    const sendCq = this.#sendCq = new CompletionQueue(context, { cqe: TX_DEPTH, channel: null });
    const recvCq = this.#recvCq = new CompletionQueue(context, { cqe: RX_DEPTH, channel: null });
    const cap = { maxSendWr: TX_DEPTH, maxRecvWr: RX_DEPTH };
    this.#qp = new QueuePair(pd, { type: QpType.RC, sendCq, recvCq, cap });
    const access = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE;
    this.#mr = new MemoryRegion(pd, 2 * HALF, access);
    this.#bytes = this.#mr.bytes();
    this.#qp.init({ port: PORT, gidIndex: 0, qpAccessFlags: AccessFlags.REMOTE_WRITE });
    for (let i = 0; i < RX_DEPTH; i++) this.#recvs.set(i, { sge: this.#mr.slice(HALF, HALF) });
    this.#qp.postRecv(this.#recvs);
  }

  get address(): Address {
    const { addr, rkey } = this.#mr;
    return { qp: this.#qp.address, addr: `${addr + BigInt(HALF)}`, rkey };
  }

  connect(remote: Address): void {
    this.#remote = remote;
    this.#qp.activateRc(remote.qp);
  }

  /** Ping-pong by sends, as ib_send_lat. */
  sendLatency(test: Test): number {
    const { isClient, size, count } = test;
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

  /** Ping-pong by RDMA writes whose last byte the other end watches, as ib_write_lat. */
  writeLatency({ isClient, size, count }: Test): number {
    this.#prepareWrites(size);
    const bytes = this.#bytes;
    const [sendAt, watchAt] = [size - 1, HALF + size - 1];
    const posted = new Float64Array(Math.ceil(count / GROUP));
    let sent = 0;
    let received = 0;
    let completed = 0;
    while (completed < count || received < count) {
      if (received < count && !(isClient && sent < 1)) {
        const expected = ++received & 0xff;
        // An atomic load is never left out.
        while (Atomics.load(bytes, watchAt) !== expected);
      }
      if (sent < count) {
        if (sent % GROUP === 0) posted[sent / GROUP] = performance.now();
        sent++;
        bytes[sendAt] = sent & 0xff;
        this.#qp.postSend(this.#sends, 1, 1);
      }
      if (completed < count) {
        this.#wait(this.#sendCq);
        completed++;
      }
    }
    return halfRoundTrip(posted);
  }

  /** Clears the bytes that a ping-pong by writes watches. */
  clear(): void {
    this.#bytes.fill(0, HALF);
  }

  /** RDMA writes of the client, as ib_write_bw. */
  writeBandwidth({ isClient, size, count, depth, moderation }: Test): number {
    if (!isClient) return 0;
    this.#prepareWrites(size);
    const batch = this.#batch;
    const start = performance.now();
    let sent = 0;
    let completed = 0;
    while (completed < count) {
      while (sent < count && sent - completed < depth) {
        sent++;
        const isSignaled = sent % moderation === 0 || sent === count;
        this.#qp.postSend(this.#sends, isSignaled ? 1 : 0, 1);
      }
      const n = this.#sendCq.pollInto(batch);
      for (let i = 0; i < n; i++) {
        if (batch.status(i) !== 0) throw batch.at(i).check();
        completed += Math.min(moderation, count - completed);
      }
    }
    return (performance.now() - start) * 1e6 / count;
  }

  /** One request without a completion, and one with. */
  #prepareWrites(size: number): void {
    const { addr, rkey } = this.#remote!;
    const write = { opcode: WrOpcode.RDMA_WRITE, remoteAddr: BigInt(addr), rkey };
    const sge = this.#mr.slice(0, size);
    this.#sends.set(0, { ...write, sge, signaled: false });
    this.#sends.set(1, { ...write, sge });
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
const TESTS: Readonly<Record<string, (test: Test) => number>> = {
  send_lat: (test) => connection.sendLatency(test),
  write_lat: (test) => connection.writeLatency(test),
  write_bw: (test) => connection.writeBandwidth(test),
};
for await (const line of lines) {
  const [role, name, ...numbers] = line.split(" ");
  const [size, count, depth, moderation] = numbers.map(Number) as [number, number, number, number];
  const isClient = role === "client";
  connection.clear();
  if (!isClient) console.log("ready");
  console.log(TESTS[name!]!({ isClient, size, count, depth, moderation }));
}
