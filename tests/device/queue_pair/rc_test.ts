// Connected queue pairs: messages, RDMA and atomics between two of one device, posted and polled in each way.
import { assert, assertEquals } from "@std/assert";
import {
  AccessFlags,
  CompletionQueueEx,
  incRkey,
  MemoryWindow,
  MwType,
  QpState,
  QpType,
  type SendRequest,
  WcFlags,
  WcOpcode,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import {
  connected,
  connectedPair,
  deviceTest,
  type End,
  makeEnd,
  type Pair,
  pairOf,
  waitFor,
} from "../setup.ts";
import { build, makeEndEx } from "./builder.ts";

const { SEND, SEND_WITH_IMM, SEND_WITH_INV, RDMA_WRITE, RDMA_WRITE_WITH_IMM, RDMA_READ } = WrOpcode;
const { ATOMIC_CMP_AND_SWP, ATOMIC_FETCH_AND_ADD, BIND_MW } = WrOpcode;

type Post = (qp: End["qp"], requests: readonly SendRequest[]) => void;
const postSend: Post = (qp, requests) => qp.postSend(requests);

/** How ends are made, and how they post requests. */
const WAYS: Readonly<Record<string, [make: typeof makeEnd, post: Post]>> = {
  "postSend()": [makeEnd, postSend],
  "WrBuilder": [makeEndEx, build],
  "postSend() with CompletionQueueEx": [
    (pd, type) => {
      const cq = new CompletionQueueEx(pd.context, { cqe: 256 });
      return makeEnd(pd, type, { sendCq: cq, recvCq: cq });
    },
    postSend,
  ],
};

type Body = (pair: Pair, post: (...requests: SendRequest[]) => void) => Promise<void>;

function pattern(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i * 31 + seed & 0xff);
}

function word({ mr }: End, offset: number): DataView {
  const { buffer, byteOffset } = mr.sge(offset, 8).bytes;
  return new DataView(buffer, byteOffset, 8);
}

const RC_AND_UC: Readonly<Record<string, Body>> = {
  "sends a message of many packets": async ({ left, right }, post) => {
    const data = pattern(50_000, 3);
    left.mr.sge(0, data.length).bytes.set(data);
    right.qp.postRecv({ wrId: 1n, sge: right.mr.sge() });
    post({ wrId: 2n, sge: left.mr.sge(0, data.length) });
    const [sent] = await waitFor(left.cq);
    const [received] = await waitFor(right.cq);
    assertEquals([sent!.check().wrId, received!.check().wrId], [2n, 1n]);
    assertEquals([received!.opcode, received!.byteLen], [WcOpcode.RECV, data.length]);
    assertEquals(right.mr.sge(0, data.length).bytes, data);
  },
  "sends immediate data": async ({ left, right }, post) => {
    left.mr.sge(0, 8).bytes.fill(4);
    right.qp.postRecv({ sge: right.mr.sge(0, 64) });
    post({ opcode: SEND_WITH_IMM, immData: 0xdead_beef, sge: left.mr.sge(0, 8) });
    assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.SEND);
    const { opcode, immData, byteLen, wcFlags } = (await waitFor(right.cq))[0]!.check();
    assertEquals({ opcode, immData, byteLen }, {
      opcode: WcOpcode.RECV,
      immData: 0xdead_beef,
      byteLen: 8,
    });
    assert(wcFlags & WcFlags.WITH_IMM);
    assertEquals([...right.mr.sge(0, 9).bytes], [...new Array(8).fill(4), 0]);
  },
  "writes the peer's memory": async ({ left, right, remote: { remoteAddr, rkey } }, post) => {
    const data = pattern(3000, 5);
    left.mr.sge(0, data.length).bytes.set(data);
    const sge = left.mr.sge(0, data.length);
    const immData = 0x1234_5678;
    right.qp.postRecv({ wrId: 9n });
    post(
      { opcode: RDMA_WRITE, sge, remoteAddr: remoteAddr + 1000n, rkey },
      { opcode: RDMA_WRITE_WITH_IMM, sge, immData, remoteAddr: remoteAddr + 5000n, rkey },
    );
    const sent = await waitFor(left.cq, 2);
    assertEquals(sent.map((wc) => wc.check().opcode), [WcOpcode.RDMA_WRITE, WcOpcode.RDMA_WRITE]);
    const [received] = await waitFor(right.cq);
    assertEquals(received!.check().opcode, WcOpcode.RECV_RDMA_WITH_IMM);
    assertEquals([received!.wrId, received!.immData], [9n, immData]);
    assert(received!.wcFlags & WcFlags.WITH_IMM);
    for (const offset of [1000, 5000]) {
      assertEquals(right.mr.sge(offset, data.length).bytes, data);
    }
    for (const offset of [0, 4000, 8000]) {
      assertEquals(right.mr.sge(offset, 1000).bytes, new Uint8Array(1000));
    }
  },
  "sends and writes nothing": async ({ left, right, remote }, post) => {
    right.mr.bytes.fill(3);
    right.qp.postRecv([{ wrId: 1, sge: right.mr.sge(0, 64) }, { wrId: 2 }]);
    post({ opcode: SEND }, { opcode: RDMA_WRITE, ...remote }, {
      opcode: SEND,
      sge: left.mr.sge(0, 0),
    });
    for (const wc of await waitFor(left.cq, 3)) wc.check();
    const received = (await waitFor(right.cq, 2)).map((wc) => wc.check());
    assertEquals(received.map(({ wrId, byteLen }) => [wrId, byteLen]), [[1n, 0], [2n, 0]]);
    assert(right.mr.bytes.every((byte) => byte === 3));
  },
  "uses memory with relaxed ordering": async (pair, post) => {
    const { LOCAL_WRITE, REMOTE_WRITE, RELAXED_ORDERING } = AccessFlags;
    const access = LOCAL_WRITE | REMOTE_WRITE | RELAXED_ORDERING;
    const [from, to] = [pair.newMr(8192, access), pair.newMr(8192, access)];
    const data = pattern(3000, 6);
    from.sge(0, data.length).bytes.set(data);
    const sge = from.sge(0, data.length);
    pair.right.qp.postRecv({ sge: to.sge(0, 4096) });
    post({ sge }, { opcode: RDMA_WRITE, sge, remoteAddr: to.addr + 4096n, rkey: to.rkey });
    for (const wc of await waitFor(pair.left.cq, 2)) wc.check();
    (await waitFor(pair.right.cq))[0]!.check();
    for (const offset of [0, 4096]) assertEquals(to.sge(offset, data.length).bytes, data);
  },
};

const RC: Readonly<Record<string, Body>> = {
  ...RC_AND_UC,
  "reads the peer's memory into several elements": async ({ left, right, remote }, post) => {
    const data = pattern(5000, 7);
    right.mr.sge(0, data.length).bytes.set(data);
    // Elements of the same length: rdma-core 44 takes the length of the first one for all that a builder is given.
    const sge = [left.mr.sge(0, 2500), left.mr.sge(4000, 2500)];
    post({ opcode: RDMA_READ, sge, ...remote });
    assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.RDMA_READ);
    assertEquals(left.mr.sge(0, 2500).bytes, data.slice(0, 2500));
    assertEquals(left.mr.sge(4000, 2500).bytes, data.slice(2500));
  },
  "reads nothing": async ({ left, right, remote }, post) => {
    left.mr.bytes.fill(5);
    right.mr.bytes.fill(6);
    post({ opcode: RDMA_READ, ...remote });
    assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.RDMA_READ);
    assert(left.mr.bytes.every((byte) => byte === 5));
  },
  "swaps the peer's word only if it compares": async ({ left, right, remote }, post) => {
    word(right, 0).setBigUint64(0, 111n, true);
    const value = 0xffff_ffff_ffff_fffen;
    for (const [compareAdd, after] of [[5n, 111n], [111n, value]] as const) {
      const sge = left.mr.sge(0, 8);
      post({ opcode: ATOMIC_CMP_AND_SWP, sge, compareAdd, swap: value, ...remote });
      assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.COMP_SWAP);
      assertEquals(word(left, 0).getBigUint64(0, true), 111n);
      assertEquals(word(right, 0).getBigUint64(0, true), after);
    }
  },
  "adds to the peer's word and gives what it was": async ({ left, right, remote }, post) => {
    word(right, 0).setBigUint64(0, 40n, true);
    for (let i = 0n; i < 3n; i++) {
      const sge = left.mr.sge(16, 8);
      post({ opcode: ATOMIC_FETCH_AND_ADD, sge, compareAdd: 2n, ...remote });
      assertEquals((await waitFor(left.cq))[0]!.check().opcode, WcOpcode.FETCH_ADD);
      assertEquals(word(left, 16).getBigUint64(0, true), 40n + 2n * i);
    }
    assertEquals(word(right, 0).getBigUint64(0, true), 46n);
  },
  "sends a message that invalidates a window of the peer": async (pair, post) => {
    const { left, right, pd } = pair;
    // Closed before its queue pair, for which Linux 6.1 otherwise waits 50 s.
    using mw = new MemoryWindow(pd, MwType.TYPE_2);
    const rkey = incRkey(mw.rkey);
    const bindInfo = { mr: right.mr, mwAccessFlags: AccessFlags.REMOTE_WRITE };
    right.qp.postSend({ opcode: BIND_MW, mw, rkey, bindInfo });
    assertEquals((await waitFor(right.cq))[0]!.check().opcode, WcOpcode.BIND_MW);
    right.qp.postRecv({ sge: right.mr.sge(64, 64) });
    left.mr.sge(0, 8).bytes.fill(7);
    const sge = left.mr.sge(0, 8);
    const write = { opcode: RDMA_WRITE, sge, rkey, remoteAddr: right.mr.addr };
    post(write, { opcode: SEND_WITH_INV, invalidateRkey: rkey, sge });
    for (const wc of await waitFor(left.cq, 2)) wc.check();
    // Linux 6.1 marks the invalidation by the flag of another header, so only its effect is looked at.
    assertEquals((await waitFor(right.cq))[0]!.check().byteLen, 8);
    for (const offset of [0, 64]) {
      assertEquals([...right.mr.sge(offset, 8).bytes], Array(8).fill(7));
    }
    left.mr.sge(0, 8).bytes.fill(8);
    post(write);
    assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.REM_ACCESS_ERR);
    assertEquals([...right.mr.sge(0, 8).bytes], Array(8).fill(7));
  },
};

for (const [way, [make, post]] of Object.entries(WAYS)) {
  // rdma-core 44 has builders of RC and UD only for rxe.
  const services = way === "WrBuilder" ? { RC } : { RC, UC: RC_AND_UC };
  for (const [name, bodies] of Object.entries(services)) {
    for (const [what, body] of Object.entries(bodies)) {
      deviceTest(`${name}, ${way}: ${what}`, async () => {
        using pair = connected(pairOf((pd) => make(pd, QpType[name as "RC" | "UC"])));
        await body(pair, (...requests) => post(pair.left.qp, requests));
      });
    }
  }
}

deviceTest("Receives are flushed when their queue pair goes into the error state", async () => {
  using pair = connectedPair();
  const { right } = pair;
  right.qp.postRecv([{ wrId: 1n, sge: right.mr.sge(0, 8) }, { wrId: 2n }]);
  right.qp.modify({ qpState: QpState.ERR });
  const flushed = await waitFor(right.cq, 2);
  assertEquals(flushed.map(({ wrId }) => wrId), [1n, 2n]);
  assertEquals(flushed.map(({ status }) => status), [WcStatus.WR_FLUSH_ERR, WcStatus.WR_FLUSH_ERR]);
});
