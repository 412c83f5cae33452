// Rate limits, connection options, the order of data, and memory windows.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  MemoryWindow,
  type MwBindInfo,
  MwType,
  ProtectionDomain,
  SendRequestList,
  WrOpcode,
} from "../../../mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { onRc, posted } from "../work/recorded.ts";
import { assertRefused, bad } from "../refusals.ts";

const { MW_BIND, LOCAL_WRITE, REMOTE_READ } = AccessFlags;

onRc.test("QueuePair.setEce() and queryEce() carry the options", ({ qp }) => {
  qp.setEce({ vendorId: 0x15b3, options: 0xffff_ffff });
  assertEquals(qp.queryEce(), { vendorId: 0x15b3, options: 0xffff_ffff });
});

onRc.test("QueuePair.queryDataInOrder() asks for an operation", ({ qp }) => {
  const result = qp.queryDataInOrder(WrOpcode.RDMA_READ);
  const { args } = recorder.takeOne("ibv_query_qp_data_in_order");
  assertEquals([typeof result, args.op, args.flags], ["number", WrOpcode.RDMA_READ, 0]);
  assertThrows(() => qp.queryDataInOrder(bad(99)), RangeError, "opcode");
});

onRc.test("QueuePair.bindMw() binds a whole region by default, and nothing with length 0", (parts) => {
  const { qp, pd } = parts;
  const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND);
  const mw = new MemoryWindow(pd, MwType.TYPE_1);
  qp.bindMw(mw, { signaled: false, bindInfo: { mr, mwAccessFlags: 0 } });
  const call = recorder.takeOne("ibv_bind_mw");
  const { fields } = Object.values(call.args).find((arg) =>
    (arg as RecordedStruct)?.tag === "ibv_mw_bind"
  ) as RecordedStruct;
  assertEquals([fields["bind_info.addr"], fields["bind_info.length"]], ["mr1+0", 4096n]);
  assertEquals(fields.send_flags, 0);
  qp.bindMw(mw, { bindInfo: { mr, length: 0, mwAccessFlags: 0 } });
  mr.close();
  assertEquals(recorder.live("mr"), 1);
});

onRc.test("QueuePair.bindMw() refuses what does not go together", ({ qp, pd, context }) => {
  const other = new ProtectionDomain(context);
  const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND);
  const foreign = new MemoryRegion(other, 4096, LOCAL_WRITE | MW_BIND);
  const mw = new MemoryWindow(pd, MwType.TYPE_1);
  const second = new MemoryWindow(pd, MwType.TYPE_2);
  const stranger = new MemoryWindow(other, MwType.TYPE_1);
  const bind = (window: MemoryWindow, info: Partial<MwBindInfo> = {}) => () =>
    qp.bindMw(window, { bindInfo: { mr, mwAccessFlags: 0, ...info } });
  assertRefused(
    [bind(second), TypeError, "it is of type 2"],
    [bind(stranger), TypeError, "mw belongs to another protection domain"],
    [bind(mw, { mr: foreign }), TypeError, "mr belongs to another"],
    [bind(mw, { addr: mr.addr - 1n }), RangeError, "addr"],
    [bind(mw, { length: 4097 }), RangeError, "length"],
  );
});

onRc.test("A send request with opcode BIND_MW changes the key of its window, and keeps its region", (parts) => {
  const { qp, pd } = parts;
  const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND);
  const mw = new MemoryWindow(pd, MwType.TYPE_2);
  const opcode = WrOpcode.BIND_MW;
  const bindInfo = { mr, mwAccessFlags: REMOTE_READ };
  qp.postSend({ opcode, mw, rkey: 0x4301, bindInfo });
  assertEquals(mw.rkey, 0x4301);
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { opcode });
  assertThrows(() => qp.postSend(list), TypeError, "BIND_MW needs rkey, mw, bindInfo");
  list.setBindMw(0, mw, 0x4302, bindInfo);
  qp.postSend(list);
  assertEquals(mw.rkey, 0x4302);
  mr.close();
  assertEquals(recorder.live("mr"), 2);
  assertThrows(() => qp.postSend(list), TypeError, "memory region: it is disposed");
  mw.close();
  assertEquals(recorder.live("mr"), 1);
});

onRc.test("A send request keeps its memory when a getter of bindInfo sets another request", (parts) => {
  const { pd, qp } = parts;
  const mr = new MemoryRegion(pd, 64, LOCAL_WRITE | MW_BIND);
  const mw = new MemoryWindow(pd, MwType.TYPE_2);
  const other = new SendRequestList({ capacity: 1 });
  const bindInfo = {
    get mr(): MemoryRegion {
      other.set(0, { sge: mr.sge(32, 16) });
      return mr;
    },
    mwAccessFlags: 0,
  };
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { opcode: WrOpcode.BIND_MW, sge: mr.sge(8, 4), mw, rkey: 3, bindInfo });
  qp.postSend(list);
  const [{ sges }] = posted()[0] as [ReturnType<typeof posted>[0][0]];
  assertEquals(sges.map(({ addr, length }) => [addr, length]), [["mr1+8", 4]]);
});

onRc.test("A send request with opcode BIND_MW is refused if it cannot be bound", ({ qp, pd }) => {
  const mr = new MemoryRegion(pd, 4096, LOCAL_WRITE | MW_BIND);
  const [first, second] = [MwType.TYPE_1, MwType.TYPE_2].map((type) => new MemoryWindow(pd, type));
  const bindInfo = { mr, mwAccessFlags: 0 };
  const good = { opcode: WrOpcode.BIND_MW, mw: second!, rkey: 1, bindInfo };
  const post = (attr: object) => () => qp.postSend({ ...good, ...attr });
  const list = new SendRequestList({ capacity: 1 });
  assertRefused(
    [post({ mw: first }), TypeError, "it is of type 1"],
    [post({ remoteAddr: 1 }), TypeError, "BIND_MW has no attribute remoteAddr"],
    [post({ inline: true }), TypeError, "no data that can be inline"],
    [
      () => qp.postSend({ mw: second! } as object),
      TypeError,
      "SEND has no attribute mw; those that have it: BIND_MW",
    ],
    [() => list.setBindMw(0, second!, 1, bindInfo), TypeError, "SEND has no attribute"],
  );
  list.set(0, good);
  second!.close();
  assertRefused([() => qp.postSend(list), TypeError, "memory window: it is disposed"]);
});
