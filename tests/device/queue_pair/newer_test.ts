// Operations that newer kernels bring to soft-RoCE. Each works where the device says that it has it, and is refused elsewhere.
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  AllocatedBuffer,
  AllocatedBufferRegion,
  CompletionCounter,
  DmaHandle,
  MemoryRegion,
  MemoryRegionEx,
  OdpTransportCaps,
  PlacementType,
  QpState,
  QpType,
  QueuePairEx,
  SelectivityLevel,
  SendOpsFlags,
  VerbsError,
  WcOpcode,
  WcStatus,
  WrOpcode,
  wrOpcodeStr,
} from "../../../mod.ts";
import { hasSymbol } from "../../../ffi/mod.ts";
import {
  connected,
  connectedPair,
  deviceTest,
  type End,
  makeEnd,
  type Pair,
  pairOf,
  PORT,
  REMOTE_ACCESS,
  rxe,
  waitFor,
} from "../setup.ts";

const { LOCAL_WRITE, ON_DEMAND, FLUSH_GLOBAL, FLUSH_PERSISTENT } = AccessFlags;

/** Bits of `deviceCapFlagsEx` that only the kernel has names for (`enum ib_uverbs_device_cap_flags`). */
const HAS_FLUSH_GLOBAL = 1n << 38n;
const HAS_ATOMIC_WRITE = 1n << 40n;

/** Whether the device has a capability. */
function has({ context }: Pair, bit: bigint): boolean {
  return (context.queryDeviceEx().deviceCapFlagsEx & bit) !== 0n;
}

interface EndEx extends End {
  readonly qp: QueuePairEx;
}

/** Two connected ends whose builders have some operations. */
function rcPair(sendOpsFlags: number): Pair<EndEx> {
  return connected(pairOf((pd): EndEx => {
    const { qp: plain, ...end } = makeEnd(pd, QpType.RC);
    plain.close();
    const init = { qpType: QpType.RC, sendCq: end.cq, recvCq: end.cq };
    const cap = { maxSendWr: 16, maxRecvWr: 16 };
    return { ...end, qp: new QueuePairEx(pd, { ...init, cap, sendOpsFlags }) };
  }));
}

function isRefused(error: unknown): boolean {
  return error instanceof VerbsError && error.notSupported;
}

/** Asserts that there is no queue pair for an operation that the installed libibverbs lacks. */
function assertNoBuilder(sendOpsFlags: number): void {
  using fixture = rxe();
  const init = { ...fixture.qpInit(QpType.RC), sendOpsFlags };
  assert(isRefused(assertThrows(() => new QueuePairEx(fixture.pd, init))));
}

deviceTest("WrBuilder.atomicWrite() puts 8 bytes at the peer where the device has it", async () => {
  if (!hasSymbol("ibv_query_qp_data_in_order")) return assertNoBuilder(SendOpsFlags.ATOMIC_WRITE);
  using pair = rcPair(SendOpsFlags.ATOMIC_WRITE);
  const { left, right, remote } = pair;
  const wr = left.qp.wrStart();
  const value = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  wr.atomicWrite(remote.rkey, remote.remoteAddr + 16n, value);
  wr.complete();
  const [wc] = await waitFor(left.cq);
  if (!has(pair, HAS_ATOMIC_WRITE)) {
    assertEquals([wc!.status, right.mr.sge(16, 8).bytes], [
      WcStatus.LOC_QP_OP_ERR,
      new Uint8Array(8),
    ]);
    return;
  }
  assertEquals([wc!.check().opcode, right.mr.sge(16, 8).bytes], [WcOpcode.ATOMIC_WRITE, value]);
  assertEquals([right.mr.sge(15, 1).bytes[0], right.mr.sge(24, 1).bytes[0]], [0, 0]);
});

deviceTest("WrBuilder.flush() completes where the device and libibverbs have it", async () => {
  if (!hasSymbol("ibv_wr_opcode_str")) return assertNoBuilder(SendOpsFlags.FLUSH);
  using pair = rcPair(SendOpsFlags.FLUSH | SendOpsFlags.RDMA_WRITE);
  const { left, right, pd } = pair;
  const persistent = (): MemoryRegion => new MemoryRegion(pd, 4096, LOCAL_WRITE | FLUSH_PERSISTENT);
  assertThrows(persistent, VerbsError, "FLUSH_PERSISTENT needs persistent memory");
  if (!has(pair, HAS_FLUSH_GLOBAL)) return;
  right.qp.modify({ qpAccessFlags: REMOTE_ACCESS | FLUSH_GLOBAL });
  using mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | REMOTE_ACCESS | FLUSH_GLOBAL);
  const wr = left.qp.wrStart();
  wr.rdmaWrite(mr.rkey, mr.addr).setSge(left.mr.sge(0, 8));
  wr.flush(mr.rkey, mr.addr, 8, PlacementType.GLOBAL, SelectivityLevel.RANGE);
  wr.flush(mr.rkey, mr.addr, 0, PlacementType.GLOBAL, SelectivityLevel.MR);
  wr.complete();
  const opcodes = (await waitFor(left.cq, 3)).map((wc) => wc.check().opcode);
  assertEquals(opcodes, [WcOpcode.RDMA_WRITE, WcOpcode.FLUSH, WcOpcode.FLUSH]);
});

deviceTest(
  "A function that the installed libibverbs lacks gets the answer of a missing operation",
  () => {
    if (hasSymbol("ibv_wr_opcode_str")) return assertEquals(wrOpcodeStr(WrOpcode.SEND), "send");
    const error = assertThrows(() => wrOpcodeStr(WrOpcode.SEND), VerbsError, "installed rdma-core");
    assert(isRefused(error));
  },
);

deviceTest("ON_DEMAND regions send, write and read where the device has them", async () => {
  using pair = connectedPair();
  const { left, right, pd, context } = pair;
  const { generalCaps, perTransportCaps: { rcOdpCaps } } = context.queryDeviceEx().odpCaps;
  const make = (): MemoryRegion =>
    new MemoryRegion(pd, 65536, LOCAL_WRITE | REMOTE_ACCESS | ON_DEMAND);
  if (generalCaps === 0n) {
    assertThrows(make, VerbsError, "The device does not support ON_DEMAND");
    return;
  }
  const { SEND, RECV, WRITE, READ } = OdpTransportCaps;
  const needed = SEND | RECV | WRITE | READ;
  assertEquals(rcOdpCaps & needed, needed);
  using from = make();
  using to = make();
  // One packet from and to the start of a page: __rxe_odp_mr_copy() of Linux 7.3 leaves out the offset within the page.
  from.bytes.fill(7).fill(0, 32768);
  right.qp.postRecv({ sge: to.sge(0, 1024) });
  left.qp.postSend({ sge: from.sge(8192, 1024) });
  const remote = { remoteAddr: to.addr + 16384n, rkey: to.rkey };
  left.qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge: from.sge(0, 1024), ...remote });
  left.qp.postSend({ opcode: WrOpcode.RDMA_READ, sge: from.sge(32768, 1024), ...remote });
  for (const wc of await waitFor(left.cq, 3)) wc.check();
  assertEquals((await waitFor(right.cq))[0]!.check().byteLen, 1024);
  for (
    const bytes of [
      to.sge(0, 1024).bytes,
      to.sge(16384, 1024).bytes,
      from.sge(32768, 1024).bytes,
    ]
  ) {
    assertEquals(bytes, new Uint8Array(1024).fill(7));
  }
});

deviceTest("An AllocatedBuffer carries traffic where libibverbs has it", async () => {
  using pair = connectedPair();
  const { left, right, pd } = pair;
  const make = (): AllocatedBuffer => new AllocatedBuffer(pd, 8192);
  const again = (): MemoryRegion => new MemoryRegionEx(pd, { access: LOCAL_WRITE, source: 64 });
  if (!hasSymbol("ibv_alloc_buf")) {
    assert(isRefused(assertThrows(make)) && isRefused(assertThrows(again)));
    return;
  }
  using buf = make();
  using from = new AllocatedBufferRegion(buf, LOCAL_WRITE, 4096);
  using to = new MemoryRegionEx(pd, { access: LOCAL_WRITE, buf, length: 4096 });
  using other = again();
  other.bytes.fill(5);
  from.bytes.fill(9);
  right.qp.postRecv([{ sge: to.sge(0, 64) }, { sge: to.sge(64, 64) }]);
  left.qp.postSend([{ sge: from.sge(0, 64) }, { sge: other }]);
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  for (const wc of await waitFor(right.cq, 2)) assertEquals(wc.check().byteLen, 64);
  assertEquals(
    buf.bytes.subarray(0, 128),
    Uint8Array.from({ length: 128 }, (_, i) => i < 64 ? 9 : 5),
  );
  const error = assertThrows(() => buf.exportDmabufFd(), VerbsError);
  assertEquals(error.code, hasSymbol("ibv_export_buf_dmabuf_fd") ? "ENODATA" : "EOPNOTSUPP");
});

deviceTest("What soft-RoCE has not is refused by every libibverbs", () => {
  using fixture = rxe();
  const { context } = fixture;
  const qp = fixture.newQp(QpType.RC);
  assertEquals(qp.state, QpState.RESET);
  for (
    const call of [
      () => new DmaHandle(context, { cpuId: 0 }),
      () => new CompletionCounter(context),
      () => context.queryCompCntrCaps(),
      () => context.queryPortSpeed(PORT),
    ]
  ) {
    assert(isRefused(assertThrows(call)), `${call}`);
  }
});
