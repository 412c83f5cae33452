// A peer that breaks the protocol.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertRejects } from "@std/assert";
import {
  AccessFlags,
  CompletionQueue,
  MemoryRegion,
  ProtectionDomain,
  QpType,
  QueuePair,
  WrOpcode,
} from "../../../mod.ts";
import { connectRc, type RcAddress, type RcConn } from "../../../net/mod.ts";
import { toQpAddress } from "../../../net/rc/rc_address.ts";
import {
  bytes,
  connectTimeout,
  gidOf,
  openRxe,
  pair,
  pause,
  PORT,
  rcPair,
  RXE,
  test,
  text,
  warmUp,
} from "./recorder_net.ts";

const { InvalidData } = Deno.errors;

/** Frame types as in the immediate data of messages: the upper 4 bits. */
const [DATA, HELLO, WRITE] = [1, 3, 6];
const CREDITS = 4;

/** A queue pair that does what it likes. */
class RawPeer implements Disposable {
  readonly #context = openRxe();
  readonly #pd = new ProtectionDomain(this.#context);
  readonly #cq = new CompletionQueue(this.#context, { cqe: 128, channel: null });
  readonly #mr = new MemoryRegion(this.#pd, 8192, AccessFlags.LOCAL_WRITE);
  readonly #qp: QueuePair;

  constructor() {
    const cap = { maxSendWr: 64, maxRecvWr: 64 };
    const [sendCq, recvCq] = [this.#cq, this.#cq];
    this.#qp = new QueuePair(this.#pd, { qpType: QpType.RC, sendCq, recvCq, cap });
    const { gidIndex } = gidOf(this.#context, "ipv4");
    this.#qp.init({ portNum: PORT, gidIndex, qpAccessFlags: AccessFlags.REMOTE_WRITE });
    for (let i = 0; i < 64; i++) this.#qp.postRecv({ wrId: i, sge: this.#mr.sge(0, 4096) });
  }

  /** Connects to this queue pair, which says hello. */
  async connect(): Promise<RcConn> {
    const exchange = (peer: RcAddress): Promise<RcAddress> => {
      const retries = { timeout: 14, retryCnt: 6, rnrRetry: 6, minRnrTimer: 12 };
      this.#qp.activateRc(toQpAddress(peer), retries);
      this.send(HELLO);
      const { gid, qkey: _qkey, ...own } = this.#qp.address;
      const rc = { transport: "RC", gid: gid!, credits: CREDITS, maxMessage: 1024 } as const;
      return Promise.resolve({ ...own, ...rc });
    };
    return await connectRc({ device: RXE, exchange, connectTimeout, credits: CREDITS });
  }

  /** Sends a message of a type, with new credits. */
  send(
    type: number,
    credits: number = 0,
    opcode: typeof WrOpcode["SEND" | "SEND_WITH_IMM"] = WrOpcode.SEND_WITH_IMM,
  ): void {
    const immData = (type << 28 | credits) >>> 0;
    const sge = this.#mr.sge(4096, 16);
    this.#qp.postSend(opcode === WrOpcode.SEND ? { opcode, sge } : { opcode, sge, immData });
  }

  /** Tells the peer of an empty write, which needs no key. */
  tell(immData: number): void {
    const opcode = WrOpcode.RDMA_WRITE_WITH_IMM;
    this.#qp.postSend({ opcode, remoteAddr: 0, rkey: 0, immData });
  }

  [Symbol.dispose](): void {
    this.#context.close();
  }
}

const VIOLATIONS: Record<string, (peer: RawPeer) => void> = {
  "a message without a type": (peer) => peer.send(DATA, 0, WrOpcode.SEND),
  "a message of a type that only writes have": (peer) => peer.send(WRITE),
  "too many credits": (peer) => peer.send(DATA, 2),
  "more writes than it has credits for": (peer) => {
    for (let i = 0; i <= CREDITS; i++) peer.tell(HELLO << 28);
  },
};

for (const [what, violate] of Object.entries(VIOLATIONS)) {
  test(`RcConn is broken if the peer sends ${what}`, async () => {
    using peer = new RawPeer();
    await using conn = await peer.connect();
    await conn.send(bytes("fine"));
    violate(peer);
    await assertRejects(() => readAll(conn), InvalidData, "broke the protocol");
    await assertRejects(() => conn.send(bytes("x")), InvalidData);
  });
}

test("RcConn is ended alone if the peer sends more than it was promised", async () => {
  await using others = await rcPair({ credits: CREDITS });
  const received = others.client.receive();
  using peer = new RawPeer();
  await using conn = await peer.connect();
  // They share the queue of the other one; the third is that of the peer.
  assertEquals(recorder.live("cq"), 3);
  for (let i = 0; i <= CREDITS; i++) peer.send(DATA);
  await assertRejects(() => readAll(conn), InvalidData, "more messages than it has credits for");
  await others.server.send(bytes("to the other one"));
  assertEquals(text(await received), "to the other one");
  await warmUp(others, 50);
});

/** Reads messages until that fails. */
async function readAll(conn: RcConn): Promise<void> {
  // Messages that come in time are read. Reading gives the peer new credits, so it begins when all have come.
  await pause(300);
  const signal = AbortSignal.timeout(connectTimeout);
  while (await conn.receive({ signal }) !== null);
  // The end of the messages is no error: what follows it is one.
  await conn.flush();
}

pair.test("RcConn.receive() gives a message although asking its buffer closes the connection", async ({ client, server }) => {
  await client.send(bytes("last"));
  await client.flush();
  class Closing extends Uint8Array<ArrayBuffer> {
    override get length(): number {
      server[Symbol.dispose]();
      return super.length;
    }
  }
  const message = await server.receive(new Closing(new ArrayBuffer(8)));
  assertEquals(message!.buffer.slice(0, 4), bytes("last").buffer);
});
