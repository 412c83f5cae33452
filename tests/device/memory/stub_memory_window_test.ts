// Memory windows through libmlx4 and the kernel, as the stub HCA gets them.
import { assertEquals } from "@std/assert";
import {
  AccessFlags,
  incRkey,
  MemoryWindow,
  MwType,
  QpType,
  type QueuePair,
  type SendRequest,
  WcStatus,
  WrOpcode,
} from "../../../mod.ts";
import { type Fixture, waitFor } from "../setup.ts";
import { alive, assertLastCall, IB_PORT, openStub, stubTest } from "../stub.ts";

const { REMOTE_READ, REMOTE_WRITE } = AccessFlags;

/** A device with a connected queue pair. */
function connected(): [stub: Fixture, qp: QueuePair] {
  const stub = openStub();
  const qp = stub.newQp(QpType.RC);
  qp.init({ port: IB_PORT, qpAccessFlags: REMOTE_READ | REMOTE_WRITE });
  qp.activateRc(qp.address);
  return [stub, qp];
}

stubTest("QueuePair.bindMw() binds a window of type 1 to a part of a region", async () => {
  const [stub, qp] = connected();
  using _ = stub;
  const { pd, cq } = stub;
  const mr = stub.newMr();
  using mw = new MemoryWindow(pd, MwType.TYPE_1);
  const bindInfo = { mr, addr: mr.addr + 64n, length: 128, mwAccessFlags: REMOTE_WRITE };
  qp.bindMw(mw, { wrId: 7, bindInfo });
  const [bound] = await waitFor(cq);
  assertEquals([bound!.check().wrId, alive().mws], [7n, 1]);
  assertLastCall("bind_mw", {
    qp: qp.qpNum,
    rkey: mw.rkey,
    lkey: mr.lkey,
    addr: `0x${(mr.addr + 64n).toString(16)}`,
    length: 128,
    type_2: 0,
    remote_read: 0,
    remote_write: 1,
    outcome: "bound",
  });
});

stubTest("A window of type 2 is bound once, invalidated, and bound again", async () => {
  const [stub, qp] = connected();
  using _ = stub;
  const { pd, cq } = stub;
  const mr = stub.newMr();
  using mw = new MemoryWindow(pd, MwType.TYPE_2);
  const bindInfo = { mr, length: 64, mwAccessFlags: REMOTE_READ };
  const bind = (): SendRequest => ({
    opcode: WrOpcode.BIND_MW,
    mw,
    rkey: incRkey(mw.rkey),
    bindInfo,
  });
  qp.postSend(bind());
  (await waitFor(cq))[0]!.check();
  assertLastCall("bind_mw", { rkey: mw.rkey, type_2: 1, remote_read: 1, outcome: "bound" });
  qp.postSend({ opcode: WrOpcode.LOCAL_INV, invalidateRkey: mw.rkey });
  (await waitFor(cq))[0]!.check();
  assertLastCall("local_inv", { rkey: mw.rkey, outcome: "invalidated" });
  qp.postSend(bind());
  (await waitFor(cq))[0]!.check();
  qp.postSend(bind());
  assertEquals((await waitFor(cq))[0]!.status, WcStatus.MW_BIND_ERR);
  assertLastCall("bind_mw", { outcome: "refused" });
});
