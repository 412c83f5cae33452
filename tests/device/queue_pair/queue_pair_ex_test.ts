// Extended queue pairs between two ends of one device: what their builders make arrives.
import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  MemoryWindow,
  MwType,
  QpType,
  SendFlags,
  WcOpcode,
  WcStatus,
} from "../../../mod.ts";
import { connected, deviceTest, type Pair, pairOf, PORT, QKEY, waitFor } from "../setup.ts";
import { type EndEx, makeEndEx } from "./builder.ts";

// That builders do as postSend() does is tested in rc_test.ts.

function rcPair(): Pair<EndEx> {
  return connected(pairOf((pd) => makeEndEx(pd, QpType.RC)));
}

function udPair(): Pair<EndEx> {
  return pairOf((pd) => {
    const end = makeEndEx(pd, QpType.UD);
    end.qp.activateUd({ portNum: PORT, qkey: QKEY });
    return end;
  });
}

deviceTest("WrBuilder binds windows, and writes and sends inline data", async () => {
  using pair = rcPair();
  const { left, right, pd } = pair;
  using mw = new MemoryWindow(pd, MwType.TYPE_2);
  const rkey = mw.rkey & ~0xff | 0x55;
  const bindings = right.qp.wrStart();
  bindings.bindMw(mw, rkey, { mr: right.mr, mwAccessFlags: AccessFlags.REMOTE_WRITE });
  bindings.complete();
  assertEquals((await waitFor(right.cq))[0]!.check().opcode, WcOpcode.BIND_MW);
  right.qp.postRecv({ sge: right.mr.sge(0, 64) });
  using wr = left.qp.wrStart();
  wr.rdmaWrite(rkey, right.mr.addr + 512n).setInlineData(Uint8Array.of(1, 2, 3));
  wr.send().setInlineData(Uint8Array.of(4, 5, 6));
  wr.complete();
  for (const wc of await waitFor(left.cq, 2)) wc.check();
  assertEquals((await waitFor(right.cq))[0]!.check().byteLen, 3);
  assertEquals([...right.mr.sge(512, 3).bytes], [1, 2, 3]);
  assertEquals([...right.mr.sge(0, 3).bytes], [4, 5, 6]);
  const invalidation = right.qp.wrStart();
  invalidation.localInv(rkey);
  invalidation.complete();
  assertEquals((await waitFor(right.cq))[0]!.check().opcode, WcOpcode.LOCAL_INV);
  const again = left.qp.wrStart();
  again.rdmaWrite(rkey, right.mr.addr).setInlineData(Uint8Array.of(9));
  again.complete();
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.REM_ACCESS_ERR);
});

deviceTest("WrBuilder sends datagrams", async () => {
  using pair = udPair();
  const { left, right, ah } = pair;
  for (let i = 0; i < 3; i++) right.qp.postRecv({ wrId: i, sge: right.mr.sge(i * 128, 128) });
  const wr = left.qp.wrStart();
  wr.send().setUdAddr(ah, right.qp.qpNum, QKEY).setInlineData(Uint8Array.of(1, 2));
  wr.wrFlags = SendFlags.SIGNALED | SendFlags.SOLICITED;
  wr.sendImm(5).setUdAddr(ah, right.qp.qpNum, QKEY).setSge(left.mr.sge(0, 10));
  wr.send().setUdAddr(ah, right.qp.qpNum, QKEY);
  wr.complete();
  ah.close();
  for (const wc of await waitFor(left.cq, 3)) wc.check();
  const received = await waitFor(right.cq, 3);
  assertEquals(received.map((wc) => wc.check().byteLen), [42, 50, 40]);
  assertEquals([...right.mr.sge(40, 2).bytes, received[1]!.immData], [1, 2, 5]);
});
