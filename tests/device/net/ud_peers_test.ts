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
} from "../../../mod.ts";
import { listenUd, type UdAddress } from "../../../net/mod.ts";
import { deviceTest, openRxe, PORT, RXE, until } from "../setup.ts";

const QKEY = 0x1111_1111;
const PEERS = 1000;
const SLOT = Grh.SIZE + 8;

/** Many queue pairs that share memory and queues. The slot of a peer begins with its number. */
class Peers {
  readonly replies = new Map<number, number>();
  readonly #cq: CompletionQueue;
  readonly #mr: MemoryRegion;
  readonly #pd: ProtectionDomain;
  readonly #ah: AddressHandle;
  readonly #qps: QueuePair[] = [];
  readonly #server: UdAddress;

  constructor(context: Context, server: UdAddress, gidIndex: number) {
    this.#pd = new ProtectionDomain(context);
    this.#cq = new CompletionQueue(context, { cqe: 4 * PEERS, channel: null });
    this.#mr = new MemoryRegion(this.#pd, 2 * PEERS * SLOT, AccessFlags.LOCAL_WRITE);
    this.#server = server;
    const grh = { dgid: Gid.parse(server.gid), sgidIndex: gidIndex, hopLimit: 64 };
    this.#ah = new AddressHandle(this.#pd, { portNum: PORT, grh });
    for (let i = 0; i < PEERS; i++) this.join(i);
  }

  /** Makes a peer, in place of the one with that number. */
  join(number: number): void {
    this.#qps[number]?.close();
    const cap = { maxSendWr: 2, maxRecvWr: 2 };
    const qp = new QueuePair(this.#pd, {
      type: QpType.UD,
      sendCq: this.#cq,
      recvCq: this.#cq,
      cap,
    });
    qp.activateUd({ port: PORT, qkey: QKEY });
    this.#qps[number] = qp;
  }

  send(number: number, round: number): void {
    const qp = this.#qps[number]!;
    qp.postRecv({ wrId: number, sge: this.#mr.slice(number * SLOT, SLOT) });
    const message = this.#mr.slice((PEERS + number) * SLOT, 8);
    const { buffer, byteOffset } = message.bytes;
    const view = new DataView(buffer, byteOffset);
    view.setUint32(0, qp.qpNum);
    view.setUint32(4, round);
    const { qpn, qkey } = this.#server;
    qp.postSend({ wrId: PEERS, sge: message, ah: this.#ah, remoteQpn: qpn, remoteQkey: qkey });
  }

  /** Reads replies. Each must have come to the peer that it is for. */
  poll(): void {
    for (const wc of this.#cq.poll(256)) {
      const number = Number(wc.check().wrId);
      if (number === PEERS) continue;
      const { buffer, byteOffset } = this.#mr.bytes(number * SLOT + Grh.SIZE, 8);
      const view = new DataView(buffer, byteOffset);
      assertEquals(view.getUint32(0), this.#qps[number]!.qpNum);
      this.replies.set(number, view.getUint32(4));
    }
  }
}

deviceTest("UdConn answers 1000 peers, of which some leave and others join", async () => {
  using context = openRxe();
  // Not all peers are remembered at the same time.
  await using server = await listenUd({ device: RXE, qkey: QKEY, maxPeers: 300, maxQueued: 2000 });
  const echo = (async () => {
    for await (const [message, from] of server) await server.send(message, from);
  })();
  const peers = new Peers(context, server.addr, server.gidIndex);
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < PEERS; i++) {
      if (i % 100 === round) peers.join(i);
      peers.send(i, round);
      if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await until(`the replies of round ${round}`, () => {
      peers.poll();
      return peers.replies.size === PEERS && [...peers.replies.values()].every((r) => r === round);
    });
  }
  const { received, sent, dropped, sendErrors } = server.stats;
  assertEquals([received, sent, dropped, sendErrors], [3 * PEERS, 3 * PEERS, 0, 0]);
  server.close();
  await echo;
});
