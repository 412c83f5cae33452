// Kinds of memory that rxe has, and what it says to those it has not.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessFlags, MemoryRegion, VerbsError, WcStatus, WrOpcode } from "../../../mod.ts";
import { reregMr } from "../../../types/memory/rereg_mr.ts";
import { connectedPair, deviceTest, type Pair, waitFor } from "../setup.ts";
import { assertFails, failNext, openStub, stubTest } from "../stub.ts";

const { LOCAL_WRITE, REMOTE_WRITE } = AccessFlags;
const { SUCCESS } = WcStatus;

/** Writes 8 bytes from the left end to an address of the right end. */
async function write({ left }: Pair, remoteAddr: bigint, rkey: number): Promise<WcStatus> {
  left.mr.sge(0, 8).bytes.set([1, 2, 3, 4, 5, 6, 7, 8]);
  left.qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge: left.mr.sge(0, 8), remoteAddr, rkey });
  return (await waitFor(left.cq))[0]!.status;
}

deviceTest("MemoryRegion lets peers write at the address that was chosen", async () => {
  using pair = connectedPair();
  const iova = 0x7000_0000_1000n;
  using mr = new MemoryRegion(pair.pd, 4096, LOCAL_WRITE | REMOTE_WRITE, { iova });
  assertEquals(await write(pair, iova + 16n, mr.rkey), SUCCESS);
  assertEquals([...mr.sge(16, 4).bytes], [1, 2, 3, 4]);
});

deviceTest("MemoryRegion.createAsync() gives memory that peers can write", async () => {
  using pair = connectedPair();
  using mr = await MemoryRegion.createAsync(pair.pd, 4096, LOCAL_WRITE | REMOTE_WRITE);
  assertEquals(await write(pair, mr.addr, mr.rkey), SUCCESS);
  assertEquals([...mr.sge(0, 4).bytes], [1, 2, 3, 4]);
});

deviceTest("reregMr() leaves a region of rxe as it is", async () => {
  using pair = connectedPair();
  using mr = new MemoryRegion(pair.pd, 4096, LOCAL_WRITE | REMOTE_WRITE);
  const error = assertThrows(() => reregMr(mr, { source: 8192 }), VerbsError);
  assert(error.notSupported);
  assertEquals(await write(pair, mr.addr, mr.rkey), SUCCESS);
});

// The recorder fails each verb with each errno. That of the kernel comes through ib_uverbs and libmlx4.
stubTest("The kernel changes a region and a queue, and its error comes through", () => {
  using stub = openStub();
  using _mr = reregMr(stub.newMr(), { access: LOCAL_WRITE | REMOTE_WRITE });
  const change = (): void => stub.cq.modify({ moderate: { cqCount: 1, cqPeriod: 1 } });
  change();
  failNext("modify_cq", "EIO");
  assertFails(change, "ibv_modify_cq", "EIO");
  change();
});
