// Lists that are posted in parts, by several queue pairs, and with requests that are checked anew.
import { assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import {
  AccessFlags,
  MemoryRegion,
  ParentDomain,
  QpType,
  QueuePair,
  SendRequestList,
  VerbsError,
  WrOpcode,
  wrOpcodeStr,
} from "../../../mod.ts";
import { bufferAddress, nativeView } from "../../../ffi/pointers.ts";
import { structs } from "../../../ffi/layout.ts";
import type { NativeList } from "../../../types/work/native_list.ts";
import { RecvPoster } from "../../../types/work/posting.ts";
import { datagrams, failAt, handle, onRc, onUd, posted, postedIds, QKEY } from "./recorded.ts";

const { UC } = QpType;

onRc.test("A list is posted whole after a part of it was refused by another queue pair", (parts) => {
  const { qp, pd, cq, mr } = parts;
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const other = new QueuePair(pd, { qpType: UC, sendCq: cq, recvCq: cq, cap });
  const list = new SendRequestList({ capacity: 2 });
  const read = { opcode: WrOpcode.RDMA_READ, remoteAddr: 0, rkey: 1, sge: mr.sge(0, 8) };
  list.set(0, { ...read, wrId: 1 });
  list.set(1, { ...read, wrId: 2 });
  qp.postSend(list);
  assertThrows(() => other.postSend(list, 0, 1), TypeError, "has no opcode RDMA_READ");
  qp.postSend(list);
  assertEquals(postedIds(), [[1, 2], [1, 2]]);
});

onRc.test("setLength() changes the length of the first element, and the request's by as much", (parts) => {
  const { qp, mr } = parts;
  assertEquals(qp.cap.maxInlineData, 64);
  const list = new SendRequestList({ capacity: 1, maxSge: 2 });
  list.set(0, { inline: true, sge: [mr.sge(0, 32), mr.sge(100, 40)] });
  list.setLength(0, 25);
  assertThrows(() => qp.postSend(list), RangeError, "its inline data has 65 bytes");
  list.setLength(0, 24);
  qp.postSend(list);
  assertEquals(posted()[0]![0]!.sges.map(({ length }) => length), [24, 40]);
});

onRc.test("Every request of a list is checked, also after one with inline data", (parts) => {
  const { qp, pd, mr } = parts;
  const own = new MemoryRegion(pd, new Uint8Array(8), AccessFlags.LOCAL_WRITE);
  const gone = new MemoryRegion(pd, 8, AccessFlags.LOCAL_WRITE);
  const list = new SendRequestList({ capacity: 2 });
  list.set(0, { inline: true, sge: own.sge(0, 8) });
  list.set(1, { sge: gone.sge(0, 8) });
  gone.close();
  assertThrows(() => qp.postSend(list), TypeError, "memory region: it is disposed");
  assertEquals(recorder.takeOf("ibv_post_send"), []);
  list.set(1, { sge: mr.sge(0, 8) });
  qp.postSend(list);
});

onUd.test("A queue pair takes address handles of parent domains of its protection domain", (parts) => {
  const { qp, pd } = parts;
  const target = { remoteQpn: 3, remoteQkey: QKEY };
  qp.postSend({ ...target, wrId: 9, ah: handle(new ParentDomain(pd)) });
  assertEquals(postedIds(), [[9]]);
});

Deno.test("The error of a run that is refused forgets the request of an earlier failure", () => {
  const verb = { verb: "ibv_post_recv", action: "post receive", hint: () => undefined };
  const poster = new RecvPoster(verb, { maxSge: 1, needsGrh: false });
  const run = poster.prepare([{}, {}, {}, {}], undefined, undefined) as NativeList;
  // The provider writes the address of the request that it refuses, or nothing.
  const third = bufferAddress(run.view) + BigInt(2 * structs.ibv_recv_wr.size);
  nativeView(poster.badWr, 8).setBigUint64(0, third, true);
  assertEquals([poster.error(1, run).posted, poster.error(1, run).posted], [2, undefined]);
});

onUd.test("A list whose failure names no request keeps the handles of all", ({ qp, pd }) => {
  const ah = handle(pd);
  const list = datagrams([ah]);
  // A list of one has no second request: the recorder then names none.
  failAt(1);
  assertThrows(() => qp.postSend(list), VerbsError);
  ah.close();
  assertEquals(recorder.live("ah"), 1);
});

Deno.test("wrOpcodeStr() gives the text of libibverbs", () => {
  assertEquals(wrOpcodeStr(WrOpcode.RDMA_WRITE), "rdma-write");
  assertEquals(wrOpcodeStr(12 as WrOpcode), "unknown");
  assertThrows(() => wrOpcodeStr(-1 as WrOpcode), RangeError);
});
