// Memory windows, which queue pairs bind.
import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  incRkey,
  MemoryWindow,
  MwType,
  WcOpcode,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { connectedPair, deviceTest, type Pair, waitFor } from "../setup.ts";

const { REMOTE_WRITE, REMOTE_READ } = AccessFlags;
const { BIND_MW, LOCAL_INV, RDMA_READ, RDMA_WRITE } = WrOpcode;
const { SUCCESS, REM_ACCESS_ERR } = WcStatus;

/** Binds a window to bytes 64 to 128 of the right end's memory. */
async function bind(
  { right: { qp, cq, mr } }: Pair,
  mw: MemoryWindow,
  mwAccessFlags: number = REMOTE_WRITE,
): Promise<void> {
  const before = mw.rkey;
  const bindInfo = { mr, addr: mr.addr + 64n, length: 64, mwAccessFlags };
  if (mw.type === MwType.TYPE_1) qp.bindMw(mw, { wrId: 4, bindInfo });
  else qp.postSend({ wrId: 4, opcode: BIND_MW, mw, rkey: incRkey(mw.rkey), bindInfo });
  const [bound] = await waitFor(cq);
  assertEquals([bound!.check().wrId, bound!.opcode], [4n, WcOpcode.BIND_MW]);
  assertEquals(mw.rkey !== before, true);
}

/** Accesses byte 64 of the right end's memory, and says how that went and what is there then. */
async function access(
  { left, right }: Pair,
  rkey: number,
  opcode: typeof WrOpcode["RDMA_WRITE" | "RDMA_READ"],
): Promise<[status: WcStatus, byte: number]> {
  const remoteAddr = right.mr.addr + 64n;
  left.mr.sge(0, 1).bytes[0]!++;
  left.qp.postSend({ opcode, sge: left.mr.sge(0, 1), remoteAddr, rkey });
  return [(await waitFor(left.cq))[0]!.status, right.mr.sge(64, 1).bytes[0]!];
}

for (const [name, type] of Object.entries(MwType)) {
  deviceTest(`A window, ${name}, gives only the rights that it is bound with`, async () => {
    for (
      const [flags, good, bad] of [
        [REMOTE_WRITE, RDMA_WRITE, RDMA_READ],
        [REMOTE_READ, RDMA_READ, RDMA_WRITE],
      ] as const
    ) {
      using pair = connectedPair();
      using mw = new MemoryWindow(pair.pd, type);
      await bind(pair, mw, flags);
      const expected = flags === REMOTE_WRITE ? 1 : 0;
      assertEquals(await access(pair, mw.rkey, good), [SUCCESS, expected]);
      assertEquals(await access(pair, mw.rkey, bad), [REM_ACCESS_ERR, expected]);
    }
  });
}

deviceTest("QueuePair.bindMw() unbinds a window by a length of 0", async () => {
  using pair = connectedPair();
  const { right: { qp, cq, mr } } = pair;
  using mw = new MemoryWindow(pair.pd, MwType.TYPE_1);
  await bind(pair, mw);
  const { rkey } = mw;
  assertEquals(await access(pair, rkey, RDMA_WRITE), [SUCCESS, 1]);
  qp.bindMw(mw, { bindInfo: { mr, length: 0, mwAccessFlags: 0 } });
  (await waitFor(cq))[0]!.check();
  assertEquals(await access(pair, rkey, RDMA_WRITE), [REM_ACCESS_ERR, 1]);
});

deviceTest("A window of type 2 is bound again with its next key when it is invalid", async () => {
  using pair = connectedPair();
  const { right: { qp, cq } } = pair;
  using mw = new MemoryWindow(pair.pd, MwType.TYPE_2);
  await bind(pair, mw);
  const first = mw.rkey;
  assertEquals(await access(pair, first, RDMA_WRITE), [SUCCESS, 1]);
  qp.postSend({ opcode: LOCAL_INV, invalidateRkey: first });
  (await waitFor(cq))[0]!.check();
  await bind(pair, mw);
  assertEquals(mw.rkey, incRkey(first));
  assertEquals(await access(pair, mw.rkey, RDMA_WRITE), [SUCCESS, 2]);
  assertEquals(await access(pair, first, RDMA_WRITE), [REM_ACCESS_ERR, 2]);
});

deviceTest("MemoryWindow keeps its region, whichever is closed first", async () => {
  using pair = connectedPair();
  const mw = new MemoryWindow(pair.pd, MwType.TYPE_1);
  await bind(pair, mw);
  const [remoteAddr, { left, right }] = [pair.right.mr.addr + 64n, pair];
  right.mr.close();
  const sge = left.mr.sge(0, 1);
  left.qp.postSend({ opcode: RDMA_WRITE, sge, remoteAddr, rkey: mw.rkey });
  (await waitFor(left.cq))[0]!.check();
  mw.close();
});
