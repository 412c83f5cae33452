// Extended queue pairs between two ends of one device: what their builders make arrives.
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  AddressHandle,
  CompletionQueue,
  MemoryRegion,
  MemoryWindow,
  MwType,
  ProtectionDomain,
  QpType,
  QueuePairEx,
  SendFlags,
  SendOpsFlags,
  VerbsError,
  WcOpcode,
} from "../../../mod.ts";
import {
  deviceTest,
  type End,
  gidOf,
  openRxe,
  pairOf,
  PORT,
  QKEY,
  selfAddress,
  waitFor,
} from "../setup.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND } = AccessFlags;
const ACCESS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC | MW_BIND;
const { TSO, ATOMIC_WRITE, ...RXE_OPS } = SendOpsFlags;
const RC_OPS = Object.values(RXE_OPS).reduce((all: number, flag) => all | flag, 0);
const UD_OPS = SendOpsFlags.SEND | SendOpsFlags.SEND_WITH_IMM;

interface EndEx extends End {
  readonly qp: QueuePairEx;
}

function makeEndEx(pd: ProtectionDomain, type: QpType, sendOpsFlags: number): EndEx {
  const cq = new CompletionQueue(pd.context, { cqe: 256 });
  const cap = { maxSendWr: 64, maxRecvWr: 64, maxSendSge: 4, maxRecvSge: 4, maxInlineData: 64 };
  const qp = new QueuePairEx(pd, { type, sendCq: cq, recvCq: cq, cap, sendOpsFlags });
  return { qp, cq, mr: new MemoryRegion(pd, 65536, ACCESS) };
}

interface PairEx extends Disposable {
  readonly pd: ProtectionDomain;
  readonly left: EndEx;
  readonly right: EndEx;
}

function rcPair(): PairEx {
  using stack = new DisposableStack();
  const pair = stack.use(pairOf((pd) => makeEndEx(pd, QpType.RC, RC_OPS)));
  const { gidIndex } = gidOf(pair.context, "ipv4");
  const qpAccessFlags = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
  for (const { qp } of [pair.left, pair.right]) qp.init({ port: PORT, gidIndex, qpAccessFlags });
  pair.left.qp.activateRc(pair.right.qp.address);
  pair.right.qp.activateRc(pair.left.qp.address);
  stack.move();
  return pair as unknown as PairEx;
}

deviceTest("WrBuilder writes and reads the peer's memory", async () => {
  using pair = rcPair();
  const { left, right } = pair;
  const { rkey, addr } = right.mr;
  left.mr.bytes(0, 100).fill(5);
  right.mr.bytes(1000, 100).fill(6);
  right.qp.postRecv({ wrId: 9 });
  using wr = left.qp.wrStart();
  wr.wrId = 1;
  wr.rdmaWrite(rkey, addr).setSge(left.mr.slice(0, 100));
  wr.wrId = 2;
  wr.rdmaWriteImm(rkey, addr + 200n, 77).setInlineData(Uint8Array.of(1, 2, 3));
  wr.wrId = 3;
  // Elements of the same length: rdma-core 44 takes the length of the first one for all of them.
  wr.rdmaRead(rkey, addr + 1000n).setSgeList([left.mr.slice(200, 50), left.mr.slice(300, 50)]);
  wr.complete();
  const sent = await waitFor(left.cq, 3);
  assertEquals(sent.map((wc) => wc.check().wrId), [1n, 2n, 3n]);
  assertEquals(sent.map(({ opcode }) => opcode), [
    WcOpcode.RDMA_WRITE,
    WcOpcode.RDMA_WRITE,
    WcOpcode.RDMA_READ,
  ]);
  assertEquals((await waitFor(right.cq))[0]!.check().immData, 77);
  assertEquals(right.mr.bytes(0, 100), new Uint8Array(100).fill(5));
  assertEquals([...right.mr.bytes(200, 3)], [1, 2, 3]);
  for (const offset of [200, 300]) {
    assertEquals(left.mr.bytes(offset, 50), new Uint8Array(50).fill(6));
  }
});

deviceTest("WrBuilder does atomics on the peer's memory", async () => {
  using pair = rcPair();
  const { left, right } = pair;
  const { rkey, addr } = right.mr;
  const view = ({ mr }: End, offset: number): DataView => {
    const { buffer, byteOffset } = mr.bytes(offset, 8);
    return new DataView(buffer, byteOffset, 8);
  };
  view(right, 8).setBigUint64(0, 40n, true);
  const wr = left.qp.wrStart();
  wr.atomicFetchAdd(rkey, addr + 8n, 2).setSge(left.mr.slice(0, 8));
  wr.atomicCmpSwp(rkey, addr + 8n, 42, 7n).setSge(left.mr.slice(8, 8));
  wr.complete();
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  const found = [view(left, 0), view(left, 8), view(right, 8)];
  assertEquals(found.map((word) => word.getBigUint64(0, true)), [40n, 42n, 7n]);
});

deviceTest("WrBuilder binds windows, and sends messages that invalidate them", async () => {
  using pair = rcPair();
  const { left, right, pd } = pair;
  const window = new MemoryWindow(pd, MwType.TYPE_2);
  const wr = right.qp.wrStart();
  const rkey = window.rkey & ~0xff | 0x55;
  wr.bindMw(window, rkey, { mr: right.mr, mwAccessFlags: REMOTE_WRITE });
  wr.complete();
  assertEquals((await waitFor(right.cq))[0]!.check().opcode, WcOpcode.BIND_MW);
  right.qp.postRecv({ sge: right.mr.slice(0, 64) });
  const writes = left.qp.wrStart();
  writes.rdmaWrite(rkey, right.mr.addr + 512n).setInlineData(Uint8Array.of(9));
  writes.sendInv(rkey).setSge(left.mr.slice(0, 8));
  writes.complete();
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  const [received] = await waitFor(right.cq);
  // Linux 6.1 tells the invalidation by the flag of another header, so only its effect is looked at.
  assertEquals(received!.check().opcode, WcOpcode.RECV);
  assertEquals(right.mr.bytes(512, 1)[0], 9);
  const again = left.qp.wrStart();
  again.rdmaWrite(rkey, right.mr.addr).setInlineData(Uint8Array.of(1));
  again.complete();
  assertEquals((await waitFor(left.cq))[0]!.ok, false);
});

deviceTest("WrBuilder sends datagrams", async () => {
  using pair = pairOf((pd) => {
    const end = makeEndEx(pd, QpType.UD, UD_OPS);
    end.qp.activateUd({ port: PORT, qkey: QKEY });
    return end;
  });
  const { left, right, pd, context } = pair;
  const qp = left.qp as QueuePairEx;
  const ah = new AddressHandle(pd, selfAddress(context));
  for (let i = 0; i < 2; i++) right.qp.postRecv({ wrId: i, sge: right.mr.slice(i * 128, 128) });
  const wr = qp.wrStart();
  wr.send().setUdAddr(ah, right.qp.qpNum, QKEY).setInlineData(Uint8Array.of(1, 2));
  wr.wrFlags = SendFlags.SIGNALED | SendFlags.SOLICITED;
  wr.sendImm(5).setUdAddr(ah, right.qp.qpNum, QKEY).setSge(left.mr.slice(0, 10));
  wr.complete();
  ah.close();
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  const received = await waitFor(right.cq, 2);
  assertEquals(received.map((wc) => wc.check().byteLen), [42, 50]);
  assertEquals([...right.mr.bytes(40, 2), received[1]!.immData], [1, 2, 5]);
});

deviceTest(
  "WrBuilder posts nothing when it is left, and as much as the queue holds when it is complete",
  async () => {
    using pair = rcPair();
    const { left, right } = pair;
    {
      using wr = left.qp.wrStart();
      wr.send();
    }
    left.qp.wrStart().send();
    for (let i = 0; i < 2; i++) right.qp.postRecv({});
    const wr = left.qp.wrStart();
    wr.wrFlags = 0;
    for (let i = 1; i < left.qp.cap.maxSendWr; i++) {
      wr.rdmaWrite(right.mr.rkey, right.mr.addr).setInlineData(Uint8Array.of(1));
    }
    wr.wrFlags = SendFlags.SIGNALED;
    wr.wrId = 5;
    wr.send();
    wr.complete();
    assertEquals((await waitFor(left.cq))[0]!.check().wrId, 5n);
    assertEquals((await waitFor(right.cq))[0]!.check().byteLen, 0);
  },
);

deviceTest("new QueuePairEx() is refused operations that the transport does not have", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const cq = new CompletionQueue(context, { cqe: 8 });
  const init = { type: QpType.UD, sendCq: cq, recvCq: cq, cap: { maxSendWr: 1, maxRecvWr: 1 } };
  const error = assertThrows(
    () => new QueuePairEx(pd, { ...init, sendOpsFlags: SendOpsFlags.RDMA_WRITE }),
    VerbsError,
  );
  assertEquals([error.verb, error.notSupported], ["ibv_create_qp_ex", true]);
  assertEquals([TSO, ATOMIC_WRITE], [SendOpsFlags.TSO, SendOpsFlags.ATOMIC_WRITE]);
});
