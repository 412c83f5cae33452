// Connected queue pairs: messages, RDMA and atomics between two of one device.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  QpState,
  QpType,
  SendFlags,
  WcFlags,
  WcOpcode,
  WcStatus,
  WorkCompletionError,
  WrOpcode,
} from "../../../mod.ts";
import { connectedPair } from "./rc.ts";
import { deviceTest, type End, waitFor } from "../setup.ts";

function pattern(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i * 31 + seed & 0xff);
}

function word({ mr }: End, offset: number): DataView {
  const { buffer, byteOffset } = mr.bytes(offset, 8);
  return new DataView(buffer, byteOffset, 8);
}

for (const name of ["RC", "UC"] as const) {
  deviceTest(`QueuePair.postSend() sends a message of many packets over ${name}`, async () => {
    using pair = connectedPair(QpType[name]);
    const { left, right } = pair;
    const data = pattern(50_000, 3);
    left.mr.bytes(0, data.length).set(data);
    right.qp.postRecv({ wrId: 1n, sge: right.mr.slice(0) });
    left.qp.postSend({ wrId: 2n, sge: left.mr.slice(0, data.length) });
    const [sent] = await waitFor(left.cq);
    const [received] = await waitFor(right.cq);
    assertEquals([sent!.check().wrId, received!.check().wrId], [2n, 1n]);
    assertEquals([received!.opcode, received!.byteLen], [WcOpcode.RECV, data.length]);
    assertEquals(right.mr.bytes(0, data.length), data);
  });

  deviceTest(`QueuePair.postSend() writes the peer's memory over ${name}`, async () => {
    using pair = connectedPair(QpType[name]);
    const { left, right } = pair;
    const data = pattern(3000, 5);
    left.mr.bytes(0, data.length).set(data);
    const sge = left.mr.slice(0, data.length);
    const peer = { remoteAddr: right.mr.addr + 1000n, rkey: right.mr.rkey };
    left.qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge, ...peer });
    right.qp.postRecv({ wrId: 9n });
    const immData = 0x1234_5678;
    left.qp.postSend({ opcode: WrOpcode.RDMA_WRITE_WITH_IMM, sge, immData, ...peer });
    const sent = await waitFor(left.cq, 2);
    assertEquals(sent.map((wc) => wc.check().opcode), [WcOpcode.RDMA_WRITE, WcOpcode.RDMA_WRITE]);
    const [received] = await waitFor(right.cq);
    assertEquals(received!.check().opcode, WcOpcode.RECV_RDMA_WITH_IMM);
    assertEquals([received!.wrId, received!.immData], [9n, immData]);
    assert(received!.wcFlags & WcFlags.WITH_IMM);
    assertEquals(right.mr.bytes(1000, data.length), data);
    assertEquals(right.mr.bytes(0, 1000), new Uint8Array(1000));
  });
}

deviceTest("QueuePair.postSend() reads the peer's memory into several elements", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  const data = pattern(5000, 7);
  right.mr.bytes(64, data.length).set(data);
  left.qp.postSend({
    opcode: WrOpcode.RDMA_READ,
    sge: [left.mr.slice(0, 100), left.mr.slice(1000, 4900)],
    remoteAddr: right.mr.addr + 64n,
    rkey: right.mr.rkey,
  });
  assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.RDMA_READ);
  assertEquals(left.mr.bytes(0, 100), data.slice(0, 100));
  assertEquals(left.mr.bytes(1000, 4900), data.slice(100));
});

deviceTest("QueuePair.postSend() swaps the peer's word only if it compares", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  word(right, 8).setBigUint64(0, 111n, true);
  const swap = (compareAdd: bigint, value: bigint): void =>
    left.qp.postSend({
      opcode: WrOpcode.ATOMIC_CMP_AND_SWP,
      sge: left.mr.slice(0, 8),
      remoteAddr: right.mr.addr + 8n,
      rkey: right.mr.rkey,
      compareAdd,
      swap: value,
    });
  swap(5n, 1n);
  assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.COMP_SWAP);
  assertEquals(word(right, 8).getBigUint64(0, true), 111n);
  assertEquals(word(left, 0).getBigUint64(0, true), 111n);
  swap(111n, 0xffff_ffff_ffff_fffen);
  (await waitFor(left.cq))[0]!.check();
  assertEquals(word(right, 8).getBigUint64(0, true), 0xffff_ffff_ffff_fffen);
  assertEquals(word(left, 0).getBigUint64(0, true), 111n);
});

deviceTest("QueuePair.postSend() adds to the peer's word and gives what it was", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  word(right, 0).setBigUint64(0, 40n, true);
  for (let i = 0n; i < 3n; i++) {
    left.qp.postSend({
      opcode: WrOpcode.ATOMIC_FETCH_AND_ADD,
      sge: left.mr.slice(16, 8),
      remoteAddr: right.mr.addr,
      rkey: right.mr.rkey,
      compareAdd: 2n,
    });
    assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.FETCH_ADD);
    assertEquals(word(left, 16).getBigUint64(0, true), 40n + 2n * i);
  }
  assertEquals(word(right, 0).getBigUint64(0, true), 46n);
});

deviceTest("QueuePair.postSend() orders a fenced write behind a read", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  right.mr.bytes(0, 8).fill(1);
  left.mr.bytes(100, 8).fill(9);
  const peer = { remoteAddr: right.mr.addr, rkey: right.mr.rkey };
  left.qp.postSend([
    { opcode: WrOpcode.RDMA_READ, sge: left.mr.slice(0, 8), ...peer },
    {
      opcode: WrOpcode.RDMA_WRITE,
      sge: left.mr.slice(100, 8),
      sendFlags: SendFlags.FENCE | SendFlags.SIGNALED,
      ...peer,
    },
  ]);
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  assertEquals(left.mr.bytes(0, 8), new Uint8Array(8).fill(1));
  assertEquals(right.mr.bytes(0, 8), new Uint8Array(8).fill(9));
});

const WRONG: [string, (end: End) => { remoteAddr: bigint; rkey: number }][] = [
  ["the rkey is wrong", ({ mr }) => ({ remoteAddr: mr.addr, rkey: mr.rkey ^ 0xff })],
  [
    "the address is beyond the region",
    ({ mr }) => ({ remoteAddr: mr.addr + BigInt(mr.length), rkey: mr.rkey }),
  ],
];

for (const [when, peer] of WRONG) {
  deviceTest(`An RDMA write completes with REM_ACCESS_ERR when ${when}`, async () => {
    using pair = connectedPair();
    const { left, right } = pair;
    const sge = left.mr.slice(0, 8);
    left.qp.postSend({ wrId: 4n, opcode: WrOpcode.RDMA_WRITE, sge, ...peer(right) });
    const [wc] = await waitFor(left.cq);
    assertEquals([wc!.status, wc!.wrId, wc!.ok], [WcStatus.REM_ACCESS_ERR, 4n, false]);
    const error = assertThrows(() => wc!.check(), WorkCompletionError);
    assertEquals([error.code, error.completion], ["REM_ACCESS_ERR", wc]);
    assert(error.message.startsWith(`Work request 4 on queue pair ${left.qp.qpNum} failed`));
    assertEquals(left.qp.query().attr.qpState, QpState.ERR);
  });
}

deviceTest(
  "An RDMA write completes with REM_ACCESS_ERR when the region allows only reading",
  async () => {
    using pair = connectedPair();
    const { left, right } = pair;
    using mr = new MemoryRegion(pair.pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_READ);
    const sge = left.mr.slice(0, 8);
    const peer = { remoteAddr: mr.addr, rkey: mr.rkey };
    left.qp.postSend({ opcode: WrOpcode.RDMA_READ, sge, ...peer });
    (await waitFor(left.cq))[0]!.check();
    left.qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge, ...peer });
    assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.REM_ACCESS_ERR);
    assertEquals(right.cq.poll(), []);
  },
);

deviceTest("Receives are flushed when their queue pair goes into the error state", async () => {
  using pair = connectedPair();
  const { right } = pair;
  right.qp.postRecv([{ wrId: 1n, sge: right.mr.slice(0, 8) }, { wrId: 2n }]);
  right.qp.modify({ qpState: QpState.ERR });
  const flushed = await waitFor(right.cq, 2);
  assertEquals(flushed.map(({ wrId }) => wrId), [1n, 2n]);
  assertEquals(flushed.map(({ status }) => status), [WcStatus.WR_FLUSH_ERR, WcStatus.WR_FLUSH_ERR]);
});

deviceTest("A send that invalidates tells the rkey to the peer", async () => {
  using pair = connectedPair();
  const { left, right } = pair;
  right.qp.postRecv({ sge: right.mr.slice(0, 64) });
  left.qp.postSend({
    opcode: WrOpcode.SEND_WITH_INV,
    invalidateRkey: 0xabc_def1,
    sge: left.mr.slice(0, 1),
  });
  const [received] = await waitFor(right.cq);
  // rxe refuses to invalidate a region that was not made for it, and so fails the receive
  assertEquals(received!.ok, false);
});
