// Memory windows, which queue pairs bind.
import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  incRkey,
  MemoryRegion,
  MemoryWindow,
  MwType,
  WcOpcode,
  WrOpcode,
} from "../../../mod.ts";
import { connectedPair } from "./rc.ts";
import { deviceTest, type Pair, waitFor } from "../setup.ts";

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND } = AccessFlags;

function regionFor({ pd }: Pair): MemoryRegion {
  return new MemoryRegion(pd, 4096, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | MW_BIND);
}

/** Writes 8 bytes into the peer's memory, or reads them, and tells whether that went well. */
async function access(
  { left }: Pair,
  remoteAddr: bigint,
  rkey: number,
  opcode: WrOpcode = WrOpcode.RDMA_WRITE,
): Promise<boolean> {
  left.mr.bytes(0, 8).fill(7);
  left.qp.postSend({
    opcode,
    sge: left.mr.slice(0, 8),
    remoteAddr,
    rkey,
  });
  return (await waitFor(left.cq))[0]!.ok;
}

deviceTest("A window of type 1 gives its rights to a region", async () => {
  using pair = connectedPair();
  const { right: { qp, cq } } = pair;
  const mr = regionFor(pair);
  const mw = new MemoryWindow(pair.pd, MwType.TYPE_1);
  const before = mw.rkey;
  const bindInfo = { mr, addr: mr.addr + 64n, length: 64, mwAccessFlags: REMOTE_WRITE };
  qp.bindMw(mw, { wrId: 4, bindInfo });
  const [bound] = await waitFor(cq);
  assertEquals([bound!.check().wrId, bound!.opcode], [4n, WcOpcode.BIND_MW]);
  assertEquals(mw.rkey !== before, true);
  assertEquals(await access(pair, mr.addr + 64n, mw.rkey), true);
  assertEquals([...mr.bytes(64, 8)], new Array(8).fill(7));
  // The window gives no right to read. Linux 6.1 does not look at its bounds.
  assertEquals(await access(pair, mr.addr + 64n, mw.rkey, WrOpcode.RDMA_READ), false);
});

deviceTest("A window of type 2 is bound by a send request, again with its next key", async () => {
  using pair = connectedPair();
  const { right: { qp, cq } } = pair;
  const mr = regionFor(pair);
  // Closed before its queue pair, for which Linux 6.1 otherwise waits 50 s.
  using mw = new MemoryWindow(pair.pd, MwType.TYPE_2);
  const opcode = WrOpcode.BIND_MW;
  const bindInfo = { mr, mwAccessFlags: REMOTE_WRITE };
  const first = incRkey(mw.rkey);
  qp.postSend({ opcode, mw, rkey: first, bindInfo });
  assertEquals((await waitFor(cq))[0]!.check().opcode, WcOpcode.BIND_MW);
  assertEquals(mw.rkey, first);
  assertEquals(await access(pair, mr.addr, first), true);
  // A window must be invalid before it is bound again.
  const second = incRkey(first);
  qp.postSend([
    { opcode: WrOpcode.LOCAL_INV, invalidateRkey: first },
    { opcode, mw, rkey: second, bindInfo },
  ]);
  for (const wc of await waitFor(cq, 2)) wc.check();
  assertEquals(await access(pair, mr.addr + 8n, second), true);
  assertEquals(await access(pair, mr.addr + 16n, first), false);
});

/** The times that soft-RoCE has waited for an object in vain. */
async function warnings(): Promise<number> {
  const { stdout } = await new Deno.Command("dmesg").output();
  return new TextDecoder().decode(stdout).split("__rxe_cleanup").length;
}

deviceTest(
  "Context.close() closes a window of type 2 before the queue pair that it is bound through",
  async () => {
    using pair = connectedPair();
    const { right: { qp, cq } } = pair;
    const mr = regionFor(pair);
    const mw = new MemoryWindow(pair.pd, MwType.TYPE_2);
    const bindInfo = { mr, mwAccessFlags: REMOTE_WRITE };
    qp.postSend({ opcode: WrOpcode.BIND_MW, mw, rkey: incRkey(mw.rkey), bindInfo });
    (await waitFor(cq))[0]!.check();
    const before = await warnings();
    pair.context.close();
    assertEquals(await warnings(), before);
  },
);
