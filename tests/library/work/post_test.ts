// Posting: hostile input, the checks that are cached, and what a refusal tells.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  type Complete,
  MemoryRegion,
  MemorySlice,
  nameOf,
  ProtectionDomain,
  QpState,
  QpType,
  QueuePair,
  RecvRequestList,
  type SendAttributes,
  SendFlags,
  type SendRequest,
  SendRequestList,
  VerbsError,
  WrOpcode,
} from "../../../mod.ts";
import { assertRefused, bad } from "../refusals.ts";
import {
  datagram,
  failAt,
  handle,
  onRc,
  onUc,
  onUd,
  posted,
  postedIds,
  record,
} from "./recorded.ts";

const { UC, UD, RAW_PACKET } = QpType;

onUd.test("QueuePair.postSend() posts every request once when a getter posts another one", (parts) => {
  const { qp } = parts;
  const target = datagram(parts);
  const inner = { ...target, wrId: 3 };
  qp.postSend([target, target]);
  recorder.take();
  qp.postSend([
    { ...target, wrId: 1 },
    {
      ...target,
      get wrId(): number {
        qp.postSend(inner);
        qp.postSend([inner, inner]);
        return 2;
      },
    },
  ]);
  assertEquals(postedIds(), [[3], [3, 3], [1, 2]]);
});

onRc.test("SendRequestList.set() writes what it read when a getter changes the same request", (parts) => {
  const { mr, qp } = parts;
  const list = new SendRequestList({ capacity: 1, maxSge: 2 });
  list.set(0, {
    wrId: 1,
    get sge() {
      list.set(0, { wrId: 9, sge: [mr.sge(0, 9), mr.sge(0, 9)] });
      return mr.sge(0, 5);
    },
  });
  qp.postSend(list);
  const [{ wr, sges }] = posted()[0] as [ReturnType<typeof posted>[0][0]];
  assertEquals([wr.wr_id, wr.num_sge, sges.length, sges[0]!.length], [1n, 1, 1, 5]);
});

onRc.test("A list of elements that grows while it is read does not reach the next request", (parts) => {
  const { qp, mr } = parts;
  const list = new SendRequestList({ capacity: 2 });
  list.set(1, { wrId: 7, sge: mr.sge(1, 1) });
  const growing: unknown[] = [];
  growing.push({
    addr: 1n,
    lkey: 2,
    get length(): number {
      if (growing.length < 4) growing.push(mr.sge(0, 64), mr.sge(0, 64), mr.sge(0, 64));
      return 3;
    },
  });
  list.set(0, { sge: bad(growing) });
  let lengths = 0;
  const proxy = new Proxy([mr.sge(0, 2), mr.sge(0, 2), mr.sge(0, 2), mr.sge(0, 2)], {
    get: (target, key) => key === "length" ? [1, 4][lengths++] ?? 4 : Reflect.get(target, key),
  });
  qp.postSend(list);
  const requests = posted()[0]!;
  assertEquals(requests.map(({ wr }) => wr.num_sge), [1, 1]);
  assertEquals(requests.map(({ sges }) => sges[0]!.length), [3, 1]);
  list.setSge(0, proxy);
  qp.postSend(list);
  assertEquals(posted()[0]!.map(({ wr }) => wr.num_sge), [1, 1]);
});

onUd.test("QueuePair.postSend() names the attributes that a datagram lacks", (parts) => {
  const { qp } = parts;
  const { sge, ah, remoteQpn, remoteQkey } = datagram(parts) as Complete<SendAttributes>;
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { sge });
  assertRefused(
    [() => qp.postSend({ sge }), TypeError, "needs an address handle (ah)"],
    [() => qp.postSend({ sge, ah, remoteQkey } as SendRequest), TypeError, "it needs remoteQpn"],
    [() => qp.postSend({ sge, ah, remoteQpn } as SendRequest), TypeError, "it needs remoteQkey"],
    [() => qp.postSend(list), TypeError, "it needs an address handle (ah)"],
  );
  list.setAh(0, ah);
  assertRefused([() => qp.postSend(list), TypeError, "it needs remoteQpn, remoteQkey"]);
  list.setRemote(0, remoteQpn, remoteQkey);
  qp.postSend(list);
  assertEquals(postedIds(), [[0]]);
});

onRc.test("QueuePair.postSend() names the attributes that an opcode lacks", ({ qp, mr }) => {
  const lacking = (opcode: WrOpcode, attributes: object = {}) => (): void =>
    qp.postSend({ opcode, sge: mr.sge(0, 8), ...attributes } as SendRequest);
  const { RDMA_WRITE, RDMA_READ, ATOMIC_FETCH_AND_ADD, ATOMIC_CMP_AND_SWP } = WrOpcode;
  const atomic = { remoteAddr: 8n, rkey: 1 };
  const swap = lacking(ATOMIC_CMP_AND_SWP, { ...atomic, compareAdd: 0n });
  const send = lacking(WrOpcode.SEND_WITH_INV);
  assertRefused(
    [lacking(RDMA_WRITE), TypeError, "RDMA_WRITE needs remoteAddr, rkey"],
    [lacking(RDMA_READ, { remoteAddr: 8n }), TypeError, "RDMA_READ needs rkey"],
    [lacking("SEND" as never), TypeError, 'opcode "SEND" is none of WrOpcode'],
    [lacking(WrOpcode.TSO), RangeError, "opcode TSO is not offered"],
    [lacking(ATOMIC_FETCH_AND_ADD, atomic), TypeError, "needs compareAdd"],
    [swap, TypeError, "ATOMIC_CMP_AND_SWP needs swap"],
    [
      () => qp.postSend({ opcode: WrOpcode.LOCAL_INV } as SendRequest),
      TypeError,
      "needs invalidateRkey",
    ],
    [send, TypeError, "SEND_WITH_INV needs invalidateRkey"],
  );
});

Deno.test("QueuePair.postSend() refuses opcodes that the transport does not have", () => {
  const { RDMA_WRITE, RDMA_READ, LOCAL_INV, SEND_WITH_IMM, ATOMIC_FETCH_AND_ADD } = WrOpcode;
  const attributes: Readonly<Record<number, SendAttributes>> = {
    [LOCAL_INV]: { invalidateRkey: 1 },
    [SEND_WITH_IMM]: {},
    [ATOMIC_FETCH_AND_ADD]: { remoteAddr: 8n, rkey: 1, compareAdd: 1 },
  };
  const refused = [
    [UD, RDMA_WRITE],
    [UD, LOCAL_INV],
    [UC, RDMA_READ],
    [UC, ATOMIC_FETCH_AND_ADD],
    [RAW_PACKET, SEND_WITH_IMM],
  ] as const;
  for (const [type, opcode] of refused) {
    using parts = record(type);
    const message = `of type ${nameOf(QpType, type)} has no opcode ${nameOf(WrOpcode, opcode)}`;
    const request = { opcode, ...attributes[opcode] ?? { remoteAddr: 8n, rkey: 1 } };
    assertRefused([() => parts.qp.postSend(request as SendRequest), TypeError, message]);
  }
});

onRc.test("QueuePair.postSend() names atomics that are not on 8 aligned bytes", ({ qp, mr }) => {
  const add = (sge: SendRequest["sge"] & object, remoteAddr = 8) => (): void =>
    qp.postSend({ opcode: WrOpcode.ATOMIC_FETCH_AND_ADD, rkey: 1, compareAdd: 1, sge, remoteAddr });
  const works = "and ATOMIC_FETCH_AND_ADD works on 8";
  assertRefused(
    [add(mr.sge(0, 8), 12), RangeError, "remoteAddr 0xc is not a multiple of 8"],
    [add(mr.sge(0, 4)), RangeError, `its memory has 4 bytes, ${works}`],
    [add(mr.sge(0, 16)), RangeError, `its memory has 16 bytes, ${works}`],
  );
  add([mr.sge(0, 4), mr.sge(4, 4)])();
  assertEquals(postedIds(), [[0]]);
});

onRc.test("QueuePair.postSend() names inline data that exceeds the limit", ({ qp, mr }) => {
  const { maxInlineData } = qp.cap;
  qp.postSend({ sge: mr.sge(0, maxInlineData), inline: true });
  assertEquals(posted()[0]![0]!.wr.send_flags, SendFlags.INLINE | SendFlags.SIGNALED);
  const send = (request: SendRequest) => (): void => qp.postSend({ ...request, inline: true });
  const read = { opcode: WrOpcode.RDMA_READ, remoteAddr: 8, rkey: 1, sge: mr };
  const moved = Object.assign(mr.sge(0, 8), { addr: 16n });
  const plain = { addr: mr.addr, length: 8, lkey: mr.lkey };
  const tooLong = `its inline data has ${maxInlineData + 1} bytes, and the queue pair allows 64`;
  assertRefused(
    [send({ sge: mr.sge(0, maxInlineData + 1) }), RangeError, tooLong],
    [send(read), TypeError, "RDMA_READ has no data that can be inline"],
    [send({ sge: plain }), TypeError, "not given as a slice of a memory region"],
    [send({ sge: moved }), TypeError, "not within its memory region"],
  );
  const list = new SendRequestList({ capacity: 2, maxSge: 2 });
  list.set(1, { sge: [mr.sge(0, 8), mr.sge(8, 8)], inline: true });
  qp.postSend(list, 1, 1);
  list.set(1, { sge: [mr.sge(0, 8), moved], inline: true });
  assertThrows(() => qp.postSend(list, 1, 1), TypeError, "not within its memory region");
});

onUd.test("A list that was posted is checked again after a disposal", (parts) => {
  const { qp, pd } = parts;
  const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE);
  const sends = new SendRequestList({ capacity: 2, maxSge: 2 });
  const recvs = new RecvRequestList({ capacity: 1 });
  const target = datagram(parts);
  sends.set(0, target);
  sends.set(1, { ...target, sge: [parts.mr.sge(0, 8), mr.sge(0, 8)] });
  recvs.set(0, { sge: mr.sge(0, 64) });
  qp.postSend(sends);
  qp.postRecv(recvs);
  mr.close();
  assertThrows(() => qp.postSend(sends), TypeError, "memory region: it is disposed");
  assertThrows(() => qp.postRecv(recvs), TypeError, "memory region: it is disposed");
  qp.postSend(sends, 0, 1);
  target.ah.close();
  assertThrows(() => qp.postSend(sends, 0, 1), TypeError, "the address handle is disposed");
  assertEquals(postedIds(), [[0, 0], [0]]);
});

onUd.test("A list that was posted is checked again by the rules of another queue pair", (parts) => {
  using other = new ProtectionDomain(parts.context);
  const { qp, cq } = parts;
  const [mine, foreign] = [handle(parts.pd), handle(other)];
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { ...datagram(parts), ah: mine });
  qp.postSend(list);
  const cap = { maxSendWr: 4, maxRecvWr: 0, maxInlineData: 4 };
  using second = new QueuePair(other, { qpType: UD, sendCq: cq, recvCq: cq, cap });
  second.activateUd({ portNum: 1, qkey: 1 });
  assertThrows(() => second.postSend(list), TypeError, "belongs to another protection domain");
  list.setAh(0, foreign);
  assertThrows(() => qp.postSend(list), TypeError, "belongs to another protection domain");
  second.postSend(list);
  list.setAh(0, mine);
  assertThrows(() => second.postSend(list), TypeError, "belongs to another protection domain");
});

onUd.test("A list that was posted is checked again after its length, flags or memory change", (parts) => {
  const { qp, mr } = parts;
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { ...datagram(parts), sge: mr.sge(0, 2000) });
  list.setLength(0, 100);
  qp.postSend(list);
  list.setLength(0, 1025);
  assertThrows(() => qp.postSend(list), RangeError, "its message has 1025 bytes");
  list.setLength(0, 100);
  qp.postSend(list);
  list.setSendFlags(0, SendFlags.INLINE);
  assertThrows(() => qp.postSend(list), RangeError, "its inline data has 100 bytes");
  list.setSendFlags(0, SendFlags.SIGNALED);
  qp.postSend(list);
  list.setSge(0, mr.sge(0, 1025));
  assertThrows(() => qp.postSend(list), RangeError, "its message has 1025 bytes");
  const recvs = new RecvRequestList({ capacity: 1 });
  recvs.set(0, { sge: mr.sge(0, 64) });
  qp.postRecv(recvs);
  recvs.setLength(0, 39);
  assertThrows(() => qp.postRecv(recvs), RangeError, "its buffer has 39 bytes");
  const sge = [mr.sge(0, 20), mr.sge(20, 19)];
  assertThrows(
    () => qp.postRecv({ sge }),
    RangeError,
    "39 bytes, and on UD the GRH alone takes 40",
  );
  assertThrows(() => qp.postRecv({}), RangeError, "its buffer has 0 bytes");
  qp.postRecv({ sge: [mr.sge(0, 20), mr.sge(20, 20)] });
});

Deno.test("A list that was posted is checked again when the MTU of the queue pair changes", () => {
  using parts = record(UD, {}, null);
  const { qp, mr } = parts;
  const list = new SendRequestList({ capacity: 1 });
  list.set(0, { ...datagram(parts), sge: mr.sge(0, 1024) });
  qp.postSend(list);
  recorder.answer("ibv_query_port", { active_mtu: 2 });
  qp.modify({ qpState: QpState.RTS, sqPsn: 0 });
  assertThrows(() => qp.postSend(list), RangeError, "the port's MTU allows 512");
  list.set(0, { ...datagram(parts), sge: mr.sge(0, 512) });
  qp.postSend(list);
});

onRc.test("Requests say that bytes of JavaScript are no memory of the device", ({ qp }) => {
  const bytes = new Uint8Array(4) as never;
  for (const sge of [bytes, [bytes]]) {
    assertThrows(() => qp.postSend({ sge }), TypeError, "such as mr.sge(0, 64)");
    assertThrows(() => qp.postRecv({ sge }), TypeError, "such as mr.sge(0, 64)");
  }
});

onRc.test("A request that is memory itself is refused with the way to write it", ({ qp, mr }) => {
  for (const request of [new Uint8Array(4), new Uint8Array(0), mr] as never[]) {
    for (const post of [() => qp.postSend(request), () => qp.postRecv(request)]) {
      assertThrows(post, TypeError, "is not a request: write { sge: mr.sge(offset, length) }");
    }
  }
});

Deno.test("A datagram on a port without a link layer has as many bytes as the longest message", () => {
  using parts = record(UD, {}, null);
  const { qp, mr } = parts;
  recorder.answer("ibv_query_port", { link_layer: 0, active_mtu: 5, max_msg_sz: 100 });
  qp.modify({ qpState: QpState.RTS, sqPsn: 0 });
  const post = (length: number) => () =>
    qp.postSend({ ...datagram(parts), sge: mr.sge(0, length) });
  assertThrows(post(101), RangeError, "allows 100");
  post(100)();
});

onRc.test("VerbsError.posted is exact for a run that starts above 0", ({ qp }) => {
  const sends = new SendRequestList({ capacity: 6 });
  const recvs = new RecvRequestList({ capacity: 6 });
  for (const verb of ["ibv_post_send", "ibv_post_recv"]) failAt(2, verb);
  const posts = [() => qp.postSend(sends, 2, 4), () => qp.postRecv(recvs, 2, 4)];
  for (const post of posts) {
    const error = assertThrows(post, VerbsError);
    assertEquals([error.code, error.posted], ["ENOMEM", 2]);
    assertStringIncludes(error.message, "request 2 of the list; those before it were posted");
    assertStringIncludes(error.hint!, "The queue is full");
  }
});

onRc.test("A memory region that a request no longer uses may be disposed", ({ qp, mr, pd }) => {
  const gone = new MemoryRegion(pd, 64, 0);
  const list = new SendRequestList({ capacity: 1, maxSge: 2 });
  const both = [mr.sge(0, 8), gone.sge(0, 8)];
  list.set(0, { sge: both });
  qp.postSend({ sge: both });
  list.setSge(0, mr.sge(0, 8));
  gone.close();
  qp.postSend(list);
  list.setSge(0, [mr.sge(0, 8), mr.sge(0, 8)]);
  qp.postSend(list);
  qp.postSend({ sge: mr.sge(0, 8) });
  assertEquals(postedIds(), [[0], [0], [0], [0]]);
  for (const use of [() => qp.postSend({ sge: both }), () => list.setSge(0, both)]) {
    assertThrows(use, TypeError, "Cannot use memory region: it is disposed");
  }
  assertThrows(() => qp.postRecv({ sge: both }), TypeError, "memory region: it is disposed");
});

onUc.test("QueuePair.postSend() reads inline data only at the addresses of its region", (parts) => {
  const { qp, mr } = parts;
  const forged: MemorySlice = Object.create(MemorySlice.prototype);
  Object.assign(forged, { mr, offset: 0, addr: 16n, length: 8, lkey: mr.lkey });
  assertThrows(() => qp.postSend({ inline: true, sge: forged }), TypeError, "not within");
  qp.postSend({ inline: true, sge: mr.sge(mr.length - 8, 8) });
  assertEquals(posted().length, 1);
});

Deno.test("SendRequestList and RecvRequestList refuse more elements than memory has room for", () => {
  for (const List of [SendRequestList, RecvRequestList]) {
    for (const init of [{ capacity: 1, maxSge: 2 ** 31 - 1 }, { capacity: 2 ** 20, maxSge: 64 }]) {
      const message = "scatter/gather elements, and at most 16777216 are possible";
      assertThrows(() => new List(init), RangeError, message);
    }
  }
});
