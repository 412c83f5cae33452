// Datagrams from one queue pair to another.
import { assertEquals, assertThrows } from "@std/assert";
import {
  mtuBytes,
  type SendRequest,
  WcFlags,
  WcOpcode,
  type WorkCompletion,
  WrOpcode,
} from "../../../mod.ts";
import { deviceTest, type Pair, PORT, QKEY, sysfs, udPair, waitFor } from "../setup.ts";

/** Sends one datagram from left to right, which is received at offset 0. */
async function exchange(
  { left, right, toRight }: Pair,
  request: SendRequest,
): Promise<{ sent: WorkCompletion; received: WorkCompletion }> {
  right.qp.postRecv({ wrId: 77n, sge: right.mr.sge(0, 4096) });
  left.qp.postSend({ wrId: 88n, ...request, ...toRight });
  const [sent] = await waitFor(left.cq);
  const [received] = await waitFor(right.cq);
  return { sent: sent!.check(), received: received!.check() };
}

function fill(bytes: Uint8Array): Uint8Array {
  for (let i = 0; i < bytes.length; i++) bytes[i] = i * 7 + 1;
  return bytes;
}

deviceTest("QueuePair.postSend() delivers a datagram, and completions report it", async () => {
  using pair = udPair();
  const { left, right } = pair;
  const data = fill(left.mr.sge(0, 100).bytes);
  const { sent, received } = await exchange(pair, { sge: left.mr.sge(0, 100) });
  assertEquals([sent.wrId, sent.opcode, sent.qpNum], [88n, WcOpcode.SEND, left.qp.qpNum]);
  assertEquals([received.wrId, received.opcode], [77n, WcOpcode.RECV]);
  assertEquals([received.qpNum, received.srcQp], [right.qp.qpNum, left.qp.qpNum]);
  assertEquals(received.byteLen, 140);
  assertEquals(received.wcFlags & (WcFlags.GRH | WcFlags.WITH_IMM), WcFlags.GRH);
  assertEquals(right.mr.sge(40, 100).bytes, data);
});

deviceTest("QueuePair.postSend() gathers, and receives scatter", async () => {
  using pair = udPair();
  const { left, right, toRight } = pair;
  const data = fill(left.mr.sge(0, 600).bytes);
  const parts = [left.mr.sge(0, 1), left.mr.sge(1, 199), left.mr.sge(200, 400)];
  right.qp.postRecv({
    sge: [right.mr.sge(0, 40), right.mr.sge(5000, 10), right.mr.sge(9000, 2000)],
  });
  left.qp.postSend({ sge: parts, ...toRight });
  const [received] = await waitFor(right.cq);
  assertEquals(received!.check().byteLen, 640);
  assertEquals(right.mr.sge(5000, 10).bytes, data.slice(0, 10));
  assertEquals(right.mr.sge(9000, 590).bytes, data.slice(10));
  assertEquals(right.mr.grhAt(0).ipVersion, 4);
});

deviceTest("QueuePair.postSend() posts a list in one call, in order", async () => {
  using pair = udPair();
  const { left, right, toRight } = pair;
  const receives = Array.from({ length: 10 }, (_, i) => ({
    wrId: BigInt(i),
    sge: right.mr.sge(i * 64, 64),
  }));
  right.qp.postRecv(receives);
  left.qp.postSend(Array.from({ length: 10 }, (_, i) => {
    const sge = left.mr.sge(i, 1);
    sge.bytes[0] = 100 + i;
    return { ...toRight, wrId: BigInt(1000 + i), sge };
  }));
  const sent = await waitFor(left.cq, 10);
  const received = await waitFor(right.cq, 10);
  assertEquals(sent.map(({ wrId }) => wrId), [...Array(10).keys()].map((i) => BigInt(1000 + i)));
  assertEquals(received.map(({ wrId }) => wrId), receives.map(({ wrId }) => wrId));
  assertEquals(
    received.map((_, i) => right.mr.sge(i * 64 + 40, 1).bytes[0]),
    [...Array(10).keys()].map((i) => 100 + i),
  );
});

deviceTest("QueuePair.postSend() sends as much as the MTU, and no more", async () => {
  using pair = udPair();
  const { left } = pair;
  const mtu = mtuBytes(pair.context.queryPort(PORT).activeMtu);
  const { received } = await exchange(pair, { sge: left.mr.sge(0, mtu) });
  assertEquals(received.byteLen, mtu + 40);
  for (const sge of [left.mr.sge(0, mtu + 1), [left.mr.sge(0, mtu), left.mr.sge(0, 1)]]) {
    assertThrows(
      () => left.qp.postSend({ ...pair.toRight, sge }),
      RangeError,
      `its message has ${mtu + 1} bytes, and the port's MTU allows ${mtu}`,
    );
  }
  assertEquals(left.cq.poll(), []);
});

deviceTest("A datagram with the wrong qkey does not arrive, and the port counts it", async () => {
  using pair = udPair();
  const { left, right, toRight } = pair;
  const counter = (): number => pair.context.queryPort(PORT).qkeyViolCntr;
  const before = counter();
  right.qp.postRecv({ wrId: 1n, sge: right.mr.sge(0, 1024) });
  const request = { ...toRight, opcode: WrOpcode.SEND_WITH_IMM };
  left.qp.postSend([{ ...request, remoteQkey: QKEY + 1, immData: 1 }, { ...request, immData: 2 }]);
  assertEquals((await waitFor(left.cq, 2)).map(({ status }) => status), [0, 0]);
  assertEquals((await waitFor(right.cq))[0]!.immData, 2);
  assertEquals(right.cq.poll(), []);
  assertEquals(counter() - before, 1);
});

deviceTest("A datagram to a queue pair that is not there does not arrive", async () => {
  using pair = udPair();
  const { left, right, toRight } = pair;
  const counter = (name: string): number => Number(sysfs(`ports/${PORT}/hw_counters/${name}`));
  const counted = async (): Promise<number[]> => {
    // The kernel gives old values until they are so many milliseconds old.
    await new Promise((resolve) => setTimeout(resolve, 2 * counter("lifespan")));
    return ["sent_pkts", "rcvd_pkts"].map(counter);
  };
  const [sent, received] = await counted() as [number, number];
  right.qp.postRecv([{ sge: right.mr.sge(0, 64) }, { sge: right.mr.sge(64, 64) }]);
  const request = { ...toRight, opcode: WrOpcode.SEND_WITH_IMM };
  left.qp.postSend([{ ...request, remoteQpn: 0xabcdef, immData: 1 }, { ...request, immData: 2 }]);
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  // Datagrams arrive in order: the first one is gone when the second one is there.
  assertEquals((await waitFor(right.cq))[0]!.check().immData, 2);
  assertEquals(right.cq.poll(), []);
  assertEquals(await counted(), [sent + 2, received + 1]);
});
