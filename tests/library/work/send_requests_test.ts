// Prepared sends: what setters write, what they refuse, and that a refused setter changes nothing.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  MemoryRegion,
  type SendAttributes,
  SendFlags,
  type SendRequest,
  SendRequestList,
  WrOpcode,
} from "../../../mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { assertRefused } from "../refusals.ts";
import { datagram, onRc, onUd, posted, type Recorded } from "./recorded.ts";

const { FENCE, INLINE, SIGNALED, SOLICITED } = SendFlags;

/** The bytes of the first request and of its elements, as native code gets them. */
function bytesOf({ qp }: Recorded, list: SendRequestList): unknown {
  recorder.take();
  qp.postSend(list, 0, 1);
  const { args } = recorder.takeOne("ibv_post_send");
  return ["wr[0]", "wr[0].sg_list"].map((name) =>
    (args[name] as RecordedStruct | undefined)?.bytes.toHex()
  );
}

onRc.test("SendRequestList.setRdma() refuses atomics, which have operands at the same place", (parts) => {
  const { mr, qp } = parts;
  const list = new SendRequestList({ capacity: 1 });
  const opcode = WrOpcode.ATOMIC_FETCH_AND_ADD;
  list.set(0, { opcode, sge: mr.sge(0, 8), remoteAddr: 8n, rkey: 7, compareAdd: 5n });
  assertThrows(() => list.setRdma(0, 16n, 9), TypeError, "setAtomic()");
  list.setAtomic(0, 16n, 9, 6n);
  qp.postSend(list);
  const { wr } = posted()[0]![0]!;
  assertEquals([wr["wr.atomic.remote_addr"], wr["wr.atomic.compare_add"]], [16n, 6n]);
  assertEquals(wr["wr.atomic.rkey"], 9);
});

Deno.test("SendRequestList.setAtomic() needs both operands of a compare and swap", () => {
  const list = new SendRequestList({ capacity: 1 });
  const atomic = { remoteAddr: 8n, rkey: 7, compareAdd: 5n, swap: 6n };
  list.set(0, { ...atomic, opcode: WrOpcode.ATOMIC_CMP_AND_SWP });
  assertThrows(() => list.setAtomic(0, 16n, 9, 6n), TypeError, "ATOMIC_CMP_AND_SWP needs swap");
});

onRc.test("SendRequestList.set() leaves nothing of the request that was there before", ({ qp, mr }) => {
  const list = new SendRequestList({ capacity: 1 });
  const sge = mr.sge(0, 8);
  const target = { sge, remoteAddr: 8n, rkey: 0x99aa_bbcc };
  const atomic = { ...target, compareAdd: 1n << 63n, swap: 0xffff_ffff_ffff_ffffn };
  list.set(0, { ...atomic, opcode: WrOpcode.ATOMIC_CMP_AND_SWP });
  list.set(0, { ...target, opcode: WrOpcode.RDMA_READ });
  qp.postSend(list);
  list.set(0, { sge, opcode: WrOpcode.SEND_WITH_INV, invalidateRkey: 0x0102_0304 });
  qp.postSend(list);
  const [read, send] = posted().map((requests) => requests[0]!.wr);
  assertEquals([read!["wr.atomic.swap"], read!["wr.atomic.rkey"]], [0n, 0]);
  assertEquals([send!.invalidate_rkey, send!["wr.atomic.compare_add"]], [0x0102_0304, 0n]);
});

Deno.test("SendRequestList.set() refuses attributes that the opcode does not have", () => {
  const list = new SendRequestList({ capacity: 1 });
  const set = (request: SendAttributes) => () => list.set(0, request);
  const { RDMA_WRITE, RDMA_READ, ATOMIC_FETCH_AND_ADD, LOCAL_INV } = WrOpcode;
  const none = "has no attribute";
  assertRefused(
    [set({ opcode: RDMA_WRITE, compareAdd: 0n }), TypeError, `RDMA_WRITE ${none} compareAdd`],
    [set({ opcode: RDMA_READ, immData: 1 }), TypeError, `RDMA_READ ${none} immData`],
    [set({ opcode: ATOMIC_FETCH_AND_ADD, swap: 0n }), TypeError, `${none} swap`],
    [set({ remoteAddr: 8n }), TypeError, `SEND ${none} remoteAddr`],
    [set({ immData: 8 }), TypeError, `SEND ${none} immData`],
    [set({ opcode: LOCAL_INV, remoteQpn: 1 }), TypeError, `LOCAL_INV ${none} remoteQpn`],
  );
});

onRc.test("SendRequestList.set() combines booleans and raw flags", ({ mr, qp }) => {
  const list = new SendRequestList({ capacity: 1 });
  const sge = mr.sge(0, 8);
  const flags: [SendRequest, number][] = [
    [{}, SIGNALED],
    [{ inline: true }, SIGNALED | INLINE],
    [{ signaled: false }, 0],
    [{ fence: true, solicited: true }, SIGNALED | FENCE | SOLICITED],
    [{ sendFlags: INLINE }, INLINE],
    [{ sendFlags: 0, signaled: true }, SIGNALED],
    [{ sendFlags: SIGNALED | INLINE, inline: false }, SIGNALED],
  ];
  for (const [request, expected] of flags) {
    list.set(0, { sge, ...request });
    qp.postSend(list);
    assertEquals(posted()[0]![0]!.wr.send_flags, expected, JSON.stringify(request));
  }
});

onRc.test("SendRequestList.setWrId() takes numbers and bigints of 64 bits", ({ qp }) => {
  const list = new SendRequestList({ capacity: 1 });
  for (const wrId of [0, 7, 2 ** 32, Number.MAX_SAFE_INTEGER, 0n, (1n << 64n) - 1n, 3]) {
    list.setWrId(0, wrId);
    qp.postSend(list);
    assertEquals(posted()[0]![0]!.wr.wr_id, BigInt(wrId));
    list.set(0, { wrId });
    qp.postSend(list);
    assertEquals(posted()[0]![0]!.wr.wr_id, BigInt(wrId));
  }
});

onRc.test("SendRequestList.setImmData() writes network byte order", (parts) => {
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { opcode: WrOpcode.SEND_WITH_IMM, immData: 0x0102_0304 });
  const [first] = bytesOf(parts, list) as string[];
  list.setImmData(0, 0x0a0b_0c0d);
  const [second] = bytesOf(parts, list) as string[];
  assertEquals([first!.slice(72, 80), second!.slice(72, 80)], ["01020304", "0a0b0c0d"]);
});

onUd.test("SendRequestList.setLength() counts from the length that the request has now", (parts) => {
  using big = new MemoryRegion(parts.pd, 8192, AccessFlags.LOCAL_WRITE);
  const { qp, mr } = parts;
  const list = new SendRequestList({ capacity: 1, maxSge: 2 });
  const target = datagram(parts);
  list.set(0, { ...target, sge: [mr.sge(0, 100), mr.sge(0, 50)] });
  list.set(0, { ...target, sge: [] });
  assertThrows(() => list.setLength(0, 50), RangeError, "it has no memory");
  list.setSge(0, big.sge(0, 10));
  list.setLength(0, 1024);
  qp.postSend(list);
  list.setLength(0, 1025);
  // The recorder's port has an MTU of 1024.
  assertThrows(() => qp.postSend(list), RangeError, "its message has 1025 bytes");
  assertEquals(posted()[0]![0]!.sges[0]!.length, 1024);
  list.setSge(0, { addr: 4096n, length: 8, lkey: 1 });
  list.setLength(0, 0xffff_ffff);
  list.setSge(0, big.sge(8000, 100));
  list.setLength(0, 192);
  assertThrows(() => list.setLength(0, 193), RangeError, "length 193: it is not within 0 to 192");
});

Deno.test("A list has neither buffer nor view that a caller could detach", () => {
  const list = new SendRequestList({ capacity: 1 });
  const seen: unknown[] = [];
  for (let object: object | null = list; object !== null; object = Object.getPrototypeOf(object)) {
    for (const key of Reflect.ownKeys(object)) {
      const { value, get } = Object.getOwnPropertyDescriptor(object, key)!;
      seen.push(get === undefined ? value : get.call(list));
    }
  }
  const buffers = seen.filter((value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value));
  assertEquals(buffers, []);
});

Deno.test("console.log shows the size of a list on one line", () => {
  const list = new SendRequestList({ capacity: 4, maxSge: 2 });
  assertEquals(Deno.inspect(list), "SendRequestList { capacity: 4, maxSge: 2 }");
});

onRc.test("A whole memory region is memory of a request", ({ qp, mr }) => {
  qp.postSend({ sge: mr });
  const { sges } = posted()[0]![0]!;
  assertEquals([sges[0]!.length, sges[0]!.lkey], [mr.length, mr.lkey]);
  assertNotEquals(mr.length, 0);
});
