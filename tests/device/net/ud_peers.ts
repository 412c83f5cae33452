// Many datagram peers in one process: each has a queue pair of its own, and all share memory and queues. The server tells
// peers apart by their queue pair numbers.
//
// Arguments: the address of the server as JSON, the GID index, the numbers of peers, of requests, and of requests between
// two changes.
// Prints its counters as JSON.

import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  type Context,
  Gid,
  Grh,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  SendRequestList,
  WcOpcode,
} from "../../../mod.ts";
import type { UdAddress } from "../../../net/mod.ts";
import { openRxe, PORT, QKEY, until } from "../rxe.ts";

/** The queue pair number of the peer, its number here, and the number of the request. */
const MESSAGE = 12;
const SLOT = Grh.SIZE + MESSAGE;

/** What was counted. */
export interface PeerCounts {
  readonly sent: number;
  readonly answered: number;
  /** Requests of peers that left before the reply came. */
  readonly left: number;
  readonly changes: number;
}

/** The peers. */
export class Peers {
  sent = 0;
  answered = 0;
  left = 0;
  changes = 0;
  readonly #cq: CompletionQueue;
  readonly #mr: MemoryRegion;
  readonly #pd: ProtectionDomain;
  readonly #qps: QueuePair[] = [];
  /** The request that each peer waits for; 0 if it waits for none. */
  readonly #awaited: Uint32Array;
  readonly #requests: SendRequestList;
  readonly #view: DataView;

  constructor(context: Context, server: UdAddress, gidIndex: number, count: number) {
    this.#pd = new ProtectionDomain(context);
    this.#cq = new CompletionQueue(context, { cqe: 4 * count, channel: null });
    this.#mr = new MemoryRegion(this.#pd, 2 * count * SLOT, AccessFlags.LOCAL_WRITE);
    const bytes = this.#mr.bytes();
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#awaited = new Uint32Array(count);
    this.#requests = new SendRequestList({ capacity: count });
    const grh = { dgid: Gid.parse(server.gid), sgidIndex: gidIndex, hopLimit: 64 };
    const ah = new AddressHandle(this.#pd, { portNum: PORT, grh });
    const { qpn: remoteQpn, qkey: remoteQkey } = server;
    for (let i = 0; i < count; i++) {
      const sge = this.#mr.slice((count + i) * SLOT, MESSAGE);
      this.#requests.set(i, { wrId: i, sge, ah, remoteQpn, remoteQkey });
      this.#qps.push(this.#make());
    }
  }

  #make(): QueuePair {
    const cap = { maxSendWr: 2, maxRecvWr: 2 };
    const qp = new QueuePair(this.#pd, {
      type: QpType.UD,
      sendCq: this.#cq,
      recvCq: this.#cq,
      cap,
    });
    qp.activateUd({ portNum: PORT, qkey: QKEY });
    return qp;
  }

  /** A peer leaves, whether or not it waits for a reply, and another one joins. */
  change(number: number): void {
    this.poll();
    this.#qps[number]!.close();
    // What came before it left.
    this.poll();
    if (this.#awaited[number] !== 0) this.left++;
    this.#awaited[number] = 0;
    this.#qps[number] = this.#make();
    this.changes++;
  }

  /** How many peers wait for a reply. */
  get waiting(): number {
    return this.sent - this.answered - this.left;
  }

  /** Sends a request, unless the peer waits for a reply. */
  send(number: number): void {
    if (this.#awaited[number] !== 0) return;
    const qp = this.#qps[number]!;
    qp.postRecv({ wrId: number, sge: this.#mr.slice(number * SLOT, SLOT) });
    const at = (this.#awaited.length + number) * SLOT;
    this.sent++;
    this.#view.setUint32(at, qp.qpNum);
    this.#view.setUint32(at + 4, number);
    this.#view.setUint32(at + 8, this.sent);
    this.#awaited[number] = this.sent;
    qp.postSend(this.#requests, number, 1);
  }

  /** Reads replies. Each must be the one that its peer waits for. */
  poll(): void {
    for (const wc of this.#cq.poll(256)) {
      const { opcode, wrId, qpNum } = wc.check();
      if (opcode !== WcOpcode.RECV) continue;
      const number = Number(wrId);
      const at = number * SLOT + Grh.SIZE;
      const reply = [0, 4, 8].map((offset) => this.#view.getUint32(at + offset));
      assertEquals(reply, [qpNum, number, this.#awaited[number]], "a reply for another peer");
      this.#awaited[number] = 0;
      this.answered++;
    }
  }
}

if (import.meta.main) {
  const [address, ...numbers] = Deno.args as [string, ...string[]];
  const [gidIndex, count, requests, pause] = numbers.map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const context = openRxe();
  const peers = new Peers(context, JSON.parse(address), gidIndex, count);
  let next = 0;
  while (peers.sent < requests) {
    await until("a reply", () => {
      peers.poll();
      return peers.waiting < count;
    });
    for (let i = 0; i < 16 && peers.sent < requests; i++) peers.send(next++ % count);
    while (peers.changes < Math.floor(peers.sent / pause)) {
      peers.change(peers.changes * 7 % count);
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  while (peers.waiting > 0) {
    const { waiting } = peers;
    await until("another reply", () => {
      peers.poll();
      return peers.waiting < waiting;
    });
  }
  const { sent, answered, left, changes } = peers;
  console.log(JSON.stringify({ sent, answered, left, changes } satisfies PeerCounts));
  Deno.exit(0);
}
