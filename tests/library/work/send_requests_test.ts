// Prepared sends: what setters write, what they refuse, and that a refused setter changes nothing.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import {
  AccessFlags,
  type AddressHandle,
  MemoryRegion,
  SendFlags,
  type SendRequest,
  SendRequests,
  WrOpcode,
} from "../../../mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { handle, onRc, onUd, posted, QKEY, type Recorded } from "./recorded.ts";

const { FENCE, INLINE, SIGNALED, SOLICITED } = SendFlags;

function datagram({ pd, mr }: Recorded): SendRequest & { ah: AddressHandle } {
  return { sge: mr.slice(0, 8), ah: handle(pd), remoteQpn: 3, remoteQkey: QKEY };
}

/** The bytes of the first request and of its elements, as native code gets them. */
function bytesOf({ qp }: Recorded, list: SendRequests): unknown {
  recorder.take();
  qp.postSend(list, 1);
  const { args } = recorder.takeOne("ibv_post_send");
  return ["wr[0]", "wr[0].sg_list"].map((name) =>
    (args[name] as RecordedStruct | undefined)?.bytes.toHex()
  );
}

/** Asserts that a setter throws, and that the request is posted as before. */
function assertUnchanged(
  parts: Recorded,
  list: SendRequests,
  set: () => void,
  type: ErrorConstructor,
): void {
  const before = bytesOf(parts, list);
  assertThrows(set, type);
  assertEquals(bytesOf(parts, list), before);
}

const bad = (value: unknown): never => value as never;

onUd.test("SendRequests setters leave a datagram as it was when they refuse an argument", (parts) => {
  const list = new SendRequests({ capacity: 1, maxSge: 2 });
  const good = datagram(parts);
  list.set(0, good);
  const refused: [() => void, typeof Error][] = [
    [() => list.setRdma(0, 0x1234n, -1), TypeError],
    [() => list.setRdma(0, 0x1234n, bad(undefined)), TypeError],
    [() => list.setAtomic(0, 8n, 1, 1n, 1n), TypeError],
    [() => list.setRemote(0, 5, -1), RangeError],
    [() => list.setRemote(0, 5, bad("1")), TypeError],
    [() => list.setRemote(0, 2 ** 24, 1), RangeError],
    [() => list.setAh(0, bad({})), TypeError],
    [() => list.setAh(0, bad(null)), TypeError],
    [() => list.setImmData(0, 1), TypeError],
    [() => list.setInvalidateRkey(0, 1), TypeError],
    [() => list.setSendFlags(0, -1), RangeError],
    [() => list.setWrId(0, 1n << 64n), RangeError],
    [() => list.setRemote(0, NaN, 1), TypeError],
    [() => list.setSge(0, { addr: -1n, length: 1, lkey: 1 }), RangeError],
    [() => list.set(0, { ...good, opcode: WrOpcode.SEND_WITH_IMM, immData: 2 ** 32 }), RangeError],
    [() => list.setWrId(0, -1n), RangeError],
    [() => list.setWrId(0, 0.5), TypeError],
    [() => list.setSge(0, [parts.mr.slice(8, 8), bad({})]), TypeError],
    [() => list.setSge(0, [parts.mr.slice(8, 8), bad(null)]), TypeError],
    [() => list.setSge(0, { addr: 1n, length: -1, lkey: 1 }), RangeError],
    [() => list.setSge(0, [good.sge, good.sge, good.sge] as never), RangeError],
    [() => list.setLength(0, 4097), RangeError],
    [() => list.setLength(0, -1), RangeError],
    [() => list.set(0, { ...good, remoteQkey: -1 }), RangeError],
    [() => list.set(0, { ...good, sge: bad([null]) }), TypeError],
    ...[WrOpcode.TSO, WrOpcode.DRIVER1, 99, -1, 0.5].map((opcode): [() => void, typeof Error] => [
      () => list.set(0, { ...good, opcode: bad(opcode) }),
      RangeError,
    ]),
    [() => list.set(0, { ...good, rkey: 5 }), TypeError],
    [() => list.set(0, bad({ ...good, remoteQPN: 5 })), TypeError],
    [() => list.set(0, bad(null)), TypeError],
  ];
  for (const [set, type] of refused) assertUnchanged(parts, list, set, type);
});

onRc.test("SendRequests setters leave RDMA and atomics as they were when they refuse an argument", (parts) => {
  const sge = parts.mr.slice(0, 8);
  const requests: SendRequest[] = [
    { sge, opcode: WrOpcode.RDMA_WRITE, remoteAddr: 64n, rkey: 7 },
    { sge, opcode: WrOpcode.ATOMIC_FETCH_AND_ADD, remoteAddr: 64n, rkey: 7, compareAdd: 1n },
    { sge, opcode: WrOpcode.ATOMIC_CMP_AND_SWP, remoteAddr: 64n, rkey: 7, compareAdd: 1n, swap: 2 },
  ];
  for (const request of requests) {
    const list = new SendRequests({ capacity: 1 });
    list.set(0, request);
    const sets = [
      () => list.setRdma(0, 8n, -1),
      () => list.setRdma(0, -8n, 1),
      () => list.setAtomic(0, 8n, 1, -1n),
      () => list.setAtomic(0, 8n, -1, 1n, 1n),
      () => list.setAtomic(0, 12n, 1, 1n, 1n),
      () => list.setRemote(0, 1, 1),
      () => list.setAh(0, handle(parts.pd)),
    ];
    for (const set of sets) assertUnchanged(parts, list, set, Error);
  }
});

onRc.test("SendRequests.setRdma() refuses atomics, which have operands at the same place", (parts) => {
  const { mr, qp } = parts;
  const list = new SendRequests({ capacity: 1 });
  const opcode = WrOpcode.ATOMIC_FETCH_AND_ADD;
  list.set(0, { opcode, sge: mr.slice(0, 8), remoteAddr: 8n, rkey: 7, compareAdd: 5n });
  assertThrows(() => list.setRdma(0, 16n, 9), TypeError, "setAtomic()");
  list.setAtomic(0, 16n, 9, 6n);
  qp.postSend(list);
  const { wr } = posted()[0]![0]!;
  assertEquals([wr["wr.atomic.remote_addr"], wr["wr.atomic.compare_add"]], [16n, 6n]);
  assertEquals(wr["wr.atomic.rkey"], 9);
});

onRc.test("SendRequests.set() lays a request out by its opcode, whatever was there before", (parts) => {
  const { mr, qp } = parts;
  const list = new SendRequests({ capacity: 1 });
  const sge = mr.slice(0, 8);
  const target = { sge, remoteAddr: 0x1122_3344_5566_7788n, rkey: 0x99aa_bbcc };
  const atomic = { ...target, compareAdd: 1n << 63n, swap: 0xffff_ffff_ffff_ffffn };
  list.set(0, { ...atomic, opcode: WrOpcode.ATOMIC_CMP_AND_SWP });
  qp.postSend(list);
  list.set(0, { ...target, opcode: WrOpcode.RDMA_READ });
  qp.postSend(list);
  list.set(0, { sge, opcode: WrOpcode.SEND_WITH_INV, invalidateRkey: 0x0102_0304 });
  qp.postSend(list);
  const [swap, read, send] = posted().map((requests) => requests[0]!.wr);
  assertEquals(
    ["remote_addr", "compare_add", "swap", "rkey"].map((name) => swap![`wr.atomic.${name}`]),
    [atomic.remoteAddr, atomic.compareAdd, atomic.swap, atomic.rkey],
  );
  assertEquals([read!["wr.rdma.remote_addr"], read!["wr.rdma.rkey"]], [
    target.remoteAddr,
    target.rkey,
  ]);
  assertEquals([read!["wr.atomic.swap"], read!["wr.atomic.rkey"]], [0n, 0]);
  assertEquals([send!.invalidate_rkey, send!["wr.atomic.compare_add"]], [0x0102_0304, 0n]);
});

Deno.test("SendRequests.set() refuses attributes that the opcode does not have", () => {
  const list = new SendRequests({ capacity: 1 });
  const refused: [SendRequest, string][] = [
    [{ opcode: WrOpcode.RDMA_WRITE, compareAdd: 0n }, "RDMA_WRITE has no attribute compareAdd"],
    [{ opcode: WrOpcode.RDMA_READ, immData: 1 }, "RDMA_READ has no attribute immData"],
    [{ opcode: WrOpcode.ATOMIC_FETCH_AND_ADD, swap: 0n }, "has no attribute swap"],
    [{ remoteAddr: 8n }, "SEND has no attribute remoteAddr"],
    [{ immData: 8 }, "SEND has no attribute immData"],
    [{ opcode: WrOpcode.LOCAL_INV, remoteQpn: 1 }, "LOCAL_INV has no attribute remoteQpn"],
  ];
  for (const [request, message] of refused) {
    assertThrows(() => list.set(0, request), TypeError, message);
  }
});

Deno.test("SendRequests.set() names an attribute that does not exist", () => {
  const list = new SendRequests({ capacity: 1 });
  assertThrows(
    () => list.set(0, bad({ remoteQPN: 1 })),
    TypeError,
    'there is no attribute "remoteQPN"',
  );
});

onRc.test("SendRequests.set() combines booleans and raw flags", ({ mr, qp }) => {
  const list = new SendRequests({ capacity: 1 });
  const sge = mr.slice(0, 8);
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
  for (const name of ["signaled", "inline", "fence", "solicited"]) {
    assertThrows(
      () => list.set(0, bad({ [name]: 1 })),
      TypeError,
      `${name} 1: it is not a boolean`,
    );
  }
});

onRc.test("SendRequests.setWrId() takes numbers and bigints of 64 bits", ({ qp }) => {
  const list = new SendRequests({ capacity: 1 });
  for (const wrId of [0, 7, 2 ** 32, Number.MAX_SAFE_INTEGER, 0n, (1n << 64n) - 1n, 3]) {
    list.setWrId(0, wrId);
    qp.postSend(list);
    assertEquals(posted()[0]![0]!.wr.wr_id, BigInt(wrId));
    list.set(0, { wrId });
    qp.postSend(list);
    assertEquals(posted()[0]![0]!.wr.wr_id, BigInt(wrId));
  }
  for (const wrId of [-1, 2 ** 53, 1n << 64n]) {
    assertThrows(() => list.setWrId(0, wrId), RangeError);
  }
});

onRc.test("SendRequests.setImmData() writes network byte order", (parts) => {
  const list = new SendRequests({ capacity: 1 });
  list.set(0, { opcode: WrOpcode.SEND_WITH_IMM, immData: 0x0102_0304 });
  const [first] = bytesOf(parts, list) as string[];
  list.setImmData(0, 0x0a0b_0c0d);
  const [second] = bytesOf(parts, list) as string[];
  assertEquals([first!.slice(72, 80), second!.slice(72, 80)], ["01020304", "0a0b0c0d"]);
});

onUd.test("SendRequests.setLength() counts from the length that the request has now", (parts) => {
  using big = new MemoryRegion(parts.pd, 8192, AccessFlags.LOCAL_WRITE);
  const { qp, mr } = parts;
  const list = new SendRequests({ capacity: 1, maxSge: 2 });
  const target = datagram(parts);
  list.set(0, { ...target, sge: [mr.slice(0, 100), mr.slice(0, 50)] });
  list.set(0, { ...target, sge: [] });
  assertThrows(() => list.setLength(0, 50), RangeError, "it has no memory");
  list.setSge(0, big.slice(0, 10));
  list.setLength(0, 1024);
  qp.postSend(list);
  list.setLength(0, 1025);
  // The recorder's port has an MTU of 1024.
  assertThrows(() => qp.postSend(list), RangeError, "its message has 1025 bytes");
  assertEquals(posted()[0]![0]!.sges[0]!.length, 1024);
  list.setSge(0, big.slice(8000, 100));
  list.setLength(0, 192);
  assertThrows(() => list.setLength(0, 193), RangeError, "length 193: it is not within 0 to 192");
});

onRc.test("RequestList.setSge() refuses more elements than there is room for", ({ mr }) => {
  const list = new SendRequests({ capacity: 2, maxSge: 2 });
  const sge = mr.slice(0, 8);
  const message = "it has 3 scatter/gather elements, and there is room for 2";
  assertThrows(() => list.setSge(0, [sge, sge, sge]), RangeError, message);
  assertThrows(() => list.set(1, { sge: [sge, sge, sge] }), RangeError, message);
});

Deno.test("A list has neither buffer nor view that a caller could detach", () => {
  const list = new SendRequests({ capacity: 1 });
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

Deno.test("RequestList refuses an index that is not within the list", () => {
  const list = new SendRequests({ capacity: 2 });
  for (const index of [2, -1, 0.5, NaN]) {
    assertThrows(() => list.set(index, {}), RangeError, "there are 2");
    assertThrows(() => list.setWrId(index, 1), RangeError);
    assertThrows(() => list.setSge(index, []), RangeError);
    assertThrows(() => list.setLength(index, 0), RangeError);
    assertThrows(() => list.setSendFlags(index, 0), RangeError);
  }
  for (const index of ["0", undefined, null, {}]) {
    assertThrows(() => list.set(bad(index), {}), TypeError, "Cannot set request");
  }
});

Deno.test("new SendRequests() refuses sizes that make no list", () => {
  for (const capacity of [0, -1]) {
    assertThrows(() => new SendRequests({ capacity }), RangeError, "capacity");
  }
  assertThrows(() => new SendRequests({ capacity: 1, maxSge: 0 }), RangeError, "maxSge");
  assertThrows(() => new SendRequests(bad({})), TypeError, "capacity");
  assertThrows(() => new SendRequests(bad(null)), TypeError);
  assertThrows(() => new SendRequests(bad({ capacity: 1, maxSGE: 2 })), TypeError, "maxSGE");
});

Deno.test("console.log shows the size of a list on one line", () => {
  const list = new SendRequests({ capacity: 4, maxSge: 2 });
  assertEquals(Deno.inspect(list), "SendRequests { capacity: 4, maxSge: 2 }");
});

onRc.test("A whole memory region is memory of a request", ({ qp, mr }) => {
  qp.postSend({ sge: mr });
  const { sges } = posted()[0]![0]!;
  assertEquals([sges[0]!.length, sges[0]!.lkey], [mr.length, mr.lkey]);
  assertNotEquals(mr.length, 0);
});
