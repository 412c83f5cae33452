// Packets that are lost, delayed and reordered between two devices: RC delivers everything once and in order, UD what
// arrives.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { AddressHandle, Gid, QpType, type QueuePair, WrOpcode } from "../../../mod.ts";
import {
  deviceTest,
  type End,
  Fixture,
  makeEnd,
  PORT,
  QKEY,
  REMOTE_ACCESS,
  waitFor,
} from "../setup.ts";
import { type LossyLink, lossyLink } from "./lossy_link.ts";

/** An end on a device of its own. */
class Side extends Fixture {
  readonly end: End;
  readonly gidIndex: number;

  constructor(link: LossyLink, i: 0 | 1, type: QpType) {
    super(link.devices[i]);
    this.end = makeEnd(this.pd, type);
    this.gidIndex = link.gidIndex(link.devices[i]);
  }

  get qp(): QueuePair {
    return this.end.qp;
  }
}

const DEPTH = 16;
const SIZE = 2500;
const COUNT = 200;

/** How a path treats packets, and what that must not change. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  "1 % of the packets are lost": ["loss", "1%"],
  "20 % of the packets are lost": ["loss", "20%"],
  "packets are reordered": ["delay", "8ms", "reorder", "75%", "50%"],
  "packets are doubled": ["duplicate", "20%"],
};

/** The byte of a message at a place. */
function byteAt(i: number, message: number): number {
  return i * 31 + message * 7 & 0xff;
}

function fill(bytes: Uint8Array, message: number): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = byteAt(i, message);
}

function isFilled(bytes: Uint8Array, message: number): boolean {
  return bytes.every((byte, i) => byte === byteAt(i, message));
}

/** Sends numbered messages, and gives the numbers that arrive, whole and in this order. */
async function receiveAll({ end }: Side, numbers: Generator<number>): Promise<number[]> {
  const { qp, cq, mr } = end;
  const seen: number[] = [];
  while (seen.length < COUNT) {
    for (const wc of await waitFor(cq)) {
      const slot = Number(wc.check().wrId);
      const bytes = mr.bytes(slot * SIZE, wc.byteLen);
      const { value: expected } = numbers.next();
      const immData = wc.immData!;
      assertEquals([immData, bytes.length], [expected, SIZE]);
      assert(isFilled(bytes, immData), `message ${immData} is damaged`);
      seen.push(immData);
      qp.postRecv({ wrId: slot, sge: mr.slice(slot * SIZE, SIZE) });
    }
  }
  return seen;
}

function* count(): Generator<number, never> {
  for (let i = 0;; i++) yield i;
}

async function sendAll({ end: { qp, cq, mr } }: Side): Promise<void> {
  let [posted, done] = [0, 0];
  const post = (): void => {
    const offset = posted % DEPTH * SIZE;
    fill(mr.bytes(offset, SIZE), posted);
    const opcode = WrOpcode.SEND_WITH_IMM;
    qp.postSend({ wrId: posted, opcode, immData: posted, sge: mr.slice(offset, SIZE) });
    posted++;
  };
  while (posted < DEPTH) post();
  while (done < COUNT) {
    for (const wc of await waitFor(cq)) {
      assertEquals(Number(wc.check().wrId), done);
      done++;
      if (posted < COUNT) post();
    }
  }
}

for (const [what, netem] of Object.entries(PATHS)) {
  deviceTest(`RC delivers ${COUNT} messages once, whole and in order when ${what}`, async () => {
    await using link = await lossyLink();
    using left = new Side(link, 0, QpType.RC);
    using right = new Side(link, 1, QpType.RC);
    for (const { qp, gidIndex } of [left, right]) {
      qp.init({ port: PORT, gidIndex, qpAccessFlags: REMOTE_ACCESS });
    }
    // 16 ms before a retry; 7 are infinitely many for rxe
    const patient = { timeout: 12, retryCnt: 7 };
    right.qp.activateRc(left.qp.address, patient);
    left.qp.activateRc(right.qp.address, patient);
    // Not before: the kernel gives up to look for the neighbour when a few of its packets are lost.
    await link.disturb(...netem);
    for (let i = 0; i < DEPTH; i++) {
      right.qp.postRecv({ wrId: i, sge: right.end.mr.slice(i * SIZE, SIZE) });
    }
    const [seen] = await Promise.all([receiveAll(right, count()), sendAll(left)]);
    assertEquals(seen, [...Array(COUNT).keys()]);
    if (netem[0] === "loss") assertGreater(await link.dropped(), 0);
  });
}

const DATAGRAMS = 500;

deviceTest("UD delivers exactly the datagrams that the path does not lose", async () => {
  await using link = await lossyLink();
  using left = new Side(link, 0, QpType.UD);
  using right = new Side(link, 1, QpType.UD);
  for (const { qp, gidIndex } of [left, right]) {
    qp.activateUd({ port: PORT, qkey: QKEY, gidIndex });
  }
  const dgid = Gid.parse(right.qp.address.gid!);
  const ah = new AddressHandle(left.pd, {
    portNum: PORT,
    grh: { dgid, sgidIndex: left.gidIndex, hopLimit: 64 },
  });
  const target = { ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY };
  await link.disturb("loss", "20%");
  const before = link.received();
  const arrived = new Set<number>();
  const { mr } = right.end;
  const receive = (slot: number): void =>
    right.qp.postRecv({ wrId: slot, sge: mr.slice(slot * 64, 64) });
  for (let i = 0; i < 64; i++) receive(i);
  const drain = (): void => {
    for (const wc of right.end.cq.poll(64)) {
      const { immData } = wc.check();
      assert(!arrived.has(immData!), `datagram ${immData} arrived twice`);
      arrived.add(immData!);
      receive(Number(wc.wrId));
    }
  };
  for (let i = 0; i < DATAGRAMS; i++) {
    const opcode = WrOpcode.SEND_WITH_IMM;
    left.qp.postSend({ ...target, opcode, immData: i, sge: left.end.mr.slice(0, 8) });
    (await waitFor(left.end.cq))[0]!.check();
    drain();
  }
  // What is dropped may also be a packet of the system, such as one that looks for neighbours.
  const isComplete = async (): Promise<boolean> =>
    arrived.size === link.received() - before && arrived.size + await link.dropped() >= DATAGRAMS;
  const end = Date.now() + 5000;
  while (!await isComplete() && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    drain();
  }
  assertEquals(arrived.size, link.received() - before);
  const lost = DATAGRAMS - arrived.size;
  assert(await link.dropped() >= lost);
  assertGreater(lost, DATAGRAMS * 0.1);
});
