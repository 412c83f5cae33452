// Extended queue pairs: what their builders make of requests, and what they refuse.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessFlags,
  type AddressHandle,
  MemoryRegion,
  MemoryWindow,
  MwType,
  PlacementType,
  QpType,
  QueuePair,
  QueuePairEx,
  SelectivityLevel,
  SendFlags,
  SendOpsFlags,
  VerbsError,
  type WrBuilder,
} from "../../../mod.ts";
import type { Argument, Call, RecordedStruct } from "../../provider/records.ts";
import { handle, QKEY, record, type Recorded } from "../work/recorded.ts";
import { assertRefused, bad, type Refusal } from "../refusals.ts";
import { testsOn } from "../recorded.ts";

const { RC, UD, XRC_SEND, RAW_PACKET } = QpType;
const ALL = Object.values(SendOpsFlags).reduce((all: number, flag) => all | flag, 0);
const CAP = { maxSendWr: 9, maxRecvWr: 8, maxSendSge: 3, maxInlineData: 64 };

interface RecordedEx extends Recorded {
  readonly ex: QueuePairEx;
}

function makeEx({ pd, cq }: Recorded, type: QpType, sendOpsFlags: number): QueuePairEx {
  const { maxRecvWr: _, ...sendCap } = CAP;
  const queues = type === XRC_SEND
    ? { qpType: type, sendCq: cq, cap: sendCap }
    : { qpType: type, sendCq: cq, recvCq: cq, cap: CAP };
  return new QueuePairEx(pd, { ...queues, sendOpsFlags });
}

function recordEx(type: QpType, sendOpsFlags = ALL): RecordedEx {
  const parts = record(type === XRC_SEND ? RC : type);
  const ex = makeEx(parts, type, sendOpsFlags);
  recorder.setField("qp", "state", 0n);
  if (type === UD) ex.activateUd({ portNum: 1, qkey: QKEY });
  recorder.take();
  return { ...parts, ex };
}

const onExUd = testsOn(() => recordEx(UD));

const onExRc = testsOn(() => recordEx(RC));

/** A bigint that is small, as a number. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" && value < 2n ** 53n ? Number(value) : value;
}

/** Elements by where they are, other structs by their bytes, and nothing of the list of pieces of inline data. */
function shown(arg: Argument): unknown[] {
  if (typeof arg !== "object" || arg === null) return [plain(arg)];
  if (arg.tag === "ibv_data_buf") return [];
  if (arg.tag !== "ibv_sge") return [arg.bytes.toHex()];
  return [arg.elements.map(({ addr, length }) => `${addr} ${length}`).join()];
}

/** A call without its object: the verb, and what matters of its arguments. */
function steps(calls: Call[] = recorder.take()): unknown[][] {
  return calls.filter(({ verb }) => verb.startsWith("ibv_wr_")).map(({ verb, args }) => {
    const { qp: _qp, wr_id: _id, wr_flags: _flags, ...others } = args;
    return [verb.slice("ibv_wr_".length), ...Object.values(others).flatMap(shown)];
  });
}

onExRc.test("WrBuilder calls the verb of each request and of its data", ({ ex, mr }) => {
  const [REMOTE, RKEY] = [0x10000, 0x4242];
  const list = [mr.sge(0, 16), mr.sge(32, 8)] as const;
  const bytes = Uint8Array.of(1, 2, 3, 4, 5);
  const wr = ex.wrStart();
  wr.send().setSge(list[0]);
  wr.sendImm(0x01020304).setSgeList(list);
  wr.sendInv(0x5501).setInlineData(bytes);
  wr.rdmaWrite(RKEY, REMOTE).setInlineDataList([bytes.subarray(0, 2), bytes.subarray(2)]);
  wr.rdmaWriteImm(RKEY, REMOTE, 6).setSge(list[0]);
  wr.atomicCmpSwp(RKEY, REMOTE, 0x1122334455667788n, 9).setSge(list[1]);
  wr.atomicWrite(RKEY, REMOTE, new Uint8Array(8).fill(7));
  wr.localInv(0x5502);
  wr.flush(RKEY, REMOTE, 64, PlacementType.GLOBAL, SelectivityLevel.RANGE);
  wr.complete();
  const data = ["set_sge", mr.lkey, "mr0+0", 16];
  assertEquals(steps().slice(1, -1), [
    ...[["send"], data],
    ...[["send_imm", 0x04030201], ["set_sge_list", 2, "mr0+0 16,mr0+32 8"]],
    ...[["send_inv", 0x5501], ["set_inline_data", "0102030405", 5]],
    ...[["rdma_write", RKEY, REMOTE], ["set_inline_data_list", 2, "0102", "030405"]],
    ...[["rdma_write_imm", RKEY, REMOTE, 0x06000000], data],
    ["atomic_cmp_swp", RKEY, REMOTE, 0x1122334455667788n, 9],
    ["set_sge", mr.lkey, "mr0+32", 8],
    ["atomic_write", RKEY, REMOTE, "07".repeat(8)],
    ["local_inv", 0x5502],
    ["flush", RKEY, REMOTE, 64, PlacementType.GLOBAL, SelectivityLevel.RANGE],
  ]);
});

Deno.test("QueuePairEx() needs the op that sets the receiver", () => {
  for (const [type, op] of [[UD, "wr_set_ud_addr"], [XRC_SEND, "wr_set_xrc_srqn"]] as const) {
    using parts = record(UD);
    recorder.lack(op, "qp");
    const error = assertThrows(() => makeEx(parts, type, SendOpsFlags.SEND), VerbsError);
    assertEquals([error.verb, error.code], [`ibv_${op}`, "EOPNOTSUPP"]);
  }
});

Deno.test("WrBuilder.sendTso() gives the header of the segments", () => {
  using parts = recordEx(RAW_PACKET);
  const wr = parts.ex.wrStart();
  wr.sendTso(Uint8Array.of(1, 2, 3), 128).setSge(parts.mr.sge(64, 512));
  wr.complete();
  const { lkey } = parts.mr;
  const expected = [["send_tso", "010203", 3, 128], ["set_sge", lkey, "mr0+64", 512]];
  assertEquals(steps().slice(1, -1), expected);
});

onExRc.test("WrBuilder calls no verb before complete(), and gives numbers in full", (parts) => {
  const { ex, mr } = parts;
  assertEquals([ex.sendOpsFlags, ex instanceof QueuePair], [ALL, true]);
  const wr = ex.wrStart();
  assertEquals(Deno.inspect(wr), "WrBuilder { length: 0 }");
  wr.rdmaRead(0xffff_ffff, 2n ** 64n - 1n);
  wr.atomicFetchAdd(0x11, 0x2000, 2n ** 64n - 1n).setSge(mr.sge(0, 8));
  assertEquals({ length: wr.length, calls: recorder.take() }, { length: 2, calls: [] });
  wr.complete();
  assertEquals(steps(), [
    ["start"],
    ["rdma_read", 0xffff_ffff, 2n ** 64n - 1n],
    ["set_sge_list", 0, ""],
    ["atomic_fetch_add", 0x11, 0x2000, 2n ** 64n - 1n],
    ["set_sge", mr.lkey, "mr0+0", 8],
    ["complete"],
  ]);
});

onExRc.test("WrBuilder copies inline data of any length, and sets the flag that rxe reads", (parts) => {
  const { ex } = parts;
  const wr = ex.wrStart();
  const pieces = Array.from({ length: 8 }, (_, i) => new Uint8Array(64).fill(i + 1));
  wr.wrFlags = 0;
  for (const piece of pieces) wr.send().setInlineData(piece);
  for (const piece of pieces) piece.fill(0);
  wr.complete();
  const calls = recorder.take();
  const sends = calls.filter(({ verb }) => verb === "ibv_wr_send");
  assertEquals(sends.map(({ args }) => args.wr_flags), new Array(8).fill(SendFlags.INLINE));
  const data = steps(calls).filter(([name]) => name === "set_inline_data");
  const expected = pieces.map((_, i) => new Uint8Array(64).fill(i + 1).toHex());
  assertEquals(data.map(([, bytes]) => bytes), expected);
});

onExRc.test("WrBuilder gives each request the number and the flags of its beginning", ({ ex }) => {
  const wr = ex.wrStart();
  wr.send();
  wr.wrId = 7;
  wr.wrFlags = SendFlags.FENCE;
  wr.send();
  wr.wrId = 2n ** 64n - 1n;
  wr.send();
  wr.complete();
  const sends = recorder.takeOf("ibv_wr_send").map(({ args }) => [args.wr_id, args.wr_flags]);
  assertEquals(sends, [
    [0, SendFlags.SIGNALED],
    [7, SendFlags.FENCE],
    [2n ** 64n - 1n, SendFlags.FENCE],
  ]);
});

onExUd.test("WrBuilder keeps the handles of datagrams until they complete", ({ ex, mr, pd, cq }) => {
  const ahs = [handle(pd), handle(pd)];
  const wr = ex.wrStart();
  for (const ah of ahs) wr.send().setUdAddr(ah, 1, QKEY).setSge(mr.sge(0, 8));
  wr.complete();
  const posted = [["send"], ["set_ud_addr", "ah0", 1, QKEY], ["set_sge", mr.lkey, "mr0+0", 8]];
  assertEquals(steps().slice(1, 4), posted);
  for (const ah of ahs) ah.close();
  for (const live of [2, 1]) {
    assertEquals(recorder.live("ah"), live);
    recorder.complete("cq0", { qp_num: ex.qpNum });
    cq.poll();
  }
  assertEquals(recorder.live("ah"), 0);
});

Deno.test("WrBuilder names the shared receive queue of extended reliable connections", () => {
  using parts = recordEx(XRC_SEND);
  const wr = parts.ex.wrStart();
  wr.send().setXrcSrqn(0x1234).setSge(parts.mr.sge(0, 8));
  wr.rdmaRead(1, 2).setSge(parts.mr.sge(0, 8));
  wr.complete();
  const numbers = steps().filter(([name]) => name === "set_xrc_srqn");
  assertEquals(numbers, [["set_xrc_srqn", 0x1234], ["set_xrc_srqn", 0]]);
  const other = parts.ex.wrStart();
  other.send().setSge(parts.mr.sge(0, 8));
  assertThrows(() => other.complete(), TypeError, "needs remoteSrqn");
  // The request has nothing of the one that was there before.
  const read = parts.ex.wrStart();
  read.rdmaRead(1, 2);
  read.complete();
  const expected = [["rdma_read", 1, 2], ["set_xrc_srqn", 0], ["set_sge_list", 0, ""]];
  assertEquals(steps().slice(1, -1), expected);
});

onExRc.test("WrBuilder keeps the regions of the memory windows that it binds", ({ ex, pd }) => {
  const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.MW_BIND);
  const mw = new MemoryWindow(pd, MwType.TYPE_2);
  const wr = ex.wrStart();
  wr.bindMw(mw, 0x77, { mr, addr: mr.addr + 128n, length: 256, mwAccessFlags: 1 });
  wr.complete();
  const { args } = recorder.takeOne("ibv_wr_bind_mw");
  const { fields } = args.bind_info as RecordedStruct;
  assertEquals([args.mw, args.rkey, fields.mr, fields.addr], ["mw0", 0x77, "mr1", "mr1+128"]);
  assertEquals([fields.length, fields.mw_access_flags], [256n, 1]);
  assertEquals(mw.rkey, 0x77);
  mr.close();
  assertEquals(recorder.live("mr"), 2);
  mw.close();
  assertEquals(recorder.live("mr"), 1);
});

onExRc.test("WrBuilder refuses calls in the wrong order before native code", ({ ex, mr }) => {
  const wr = ex.wrStart();
  const setSge = (): unknown => wr.setSge(mr.sge(0, 8));
  const setInlineData = (): unknown => wr.setInlineData(new Uint8Array(1));
  const ofData = {
    setSge,
    setSgeList: () => wr.setSgeList([mr]),
    setInlineData,
    setInlineDataList: () => wr.setInlineDataList([new Uint8Array(1)]),
  };
  const ofType = {
    setUdAddr: () => wr.setUdAddr(bad({}), 1, 1),
    setXrcSrqn: () => wr.setXrcSrqn(1),
  };
  const refused = (methods: Readonly<Record<string, () => unknown>>, message: string): void =>
    assertRefused(
      ...Object.entries(methods).map(([name, call]): Refusal => [
        call,
        TypeError,
        `Cannot use ${name}(): ${message}`,
      ]),
    );
  refused({ ...ofData, ...ofType }, "no work request was begun");
  wr.send();
  setSge();
  refused(ofData, "the data of the request is set already");
  refused(ofType, "the type of the queue pair is RC");
  wr.localInv(1);
  assertRefused([setSge, TypeError, "LOCAL_INV has no data"]);
  wr.rdmaRead(1, 8);
  assertRefused([setInlineData, TypeError, "RDMA_READ has no data that can be inline"]);
  setSge();
  wr.complete();
  const send = (): unknown => wr.send();
  assertRefused(
    [() => wr.complete(), TypeError, "it is complete"],
    [send, TypeError, "it is complete"],
  );
  wr.abort();
  assertRefused([send, TypeError, "it is complete"]);
});

onExRc.test("A builder that is left half-way posts nothing", ({ ex, qp }) => {
  {
    using wr = ex.wrStart();
    wr.send();
  }
  const complete = ex.wrStart();
  complete.complete();
  const aborted = ex.wrStart();
  assertThrows(() => complete.send(), TypeError, "it is complete");
  aborted.send();
  aborted.abort();
  assertThrows(() => aborted.complete(), TypeError, "it was aborted");
  const left = ex.wrStart();
  left[Symbol.dispose]();
  assertThrows(() => left.complete(), TypeError, "it was aborted");
  const first = ex.wrStart();
  first.send();
  const second = ex.wrStart();
  assertThrows(() => first.send(), TypeError, "another builder was started before it was complete");
  assertThrows(() => first.complete(), TypeError, "another builder was started");
  // Nothing waits for the builder that is left: the queue pairs can be used.
  ex.postSend({});
  qp.postSend({});
  second.send();
  second.complete();
  ex.wrStart().complete();
  assertEquals(steps().map(([name]) => name), ["start", "send", "set_sge_list", "complete"]);
});

Deno.test("WrBuilder refuses operations that the queue pair was not made for", () => {
  using parts = recordEx(RC, SendOpsFlags.SEND);
  const wr = parts.ex.wrStart();
  const uses: [(wr: WrBuilder) => void, string][] = [
    [(wr) => wr.rdmaWrite(1, 1), "SendOpsFlags.RDMA_WRITE"],
    [(wr) => wr.sendImm(1), "SendOpsFlags.SEND_WITH_IMM"],
    [(wr) => wr.localInv(1), "SendOpsFlags.LOCAL_INV"],
    [(wr) => wr.atomicWrite(1, 8, new Uint8Array(8)), "SendOpsFlags.ATOMIC_WRITE"],
    [(wr) => wr.flush(1, 1, 1, 1, 1), "SendOpsFlags.FLUSH"],
  ];
  for (const [use, message] of uses) assertThrows(() => use(wr), TypeError, message);
  assertEquals(wr.length, 0);
  wr.send();
  wr.complete();
  assertEquals(recorder.violations(), []);
});

onExRc.test("WrBuilder refuses values out of range, and begins nothing then", ({ ex, mr }) => {
  const wr = ex.wrStart();
  const unaligned = "is not a multiple of 8";
  assertRefused(
    [() => wr.wrId = -1, RangeError, "wrId"],
    [() => wr.wrFlags = -1, RangeError, "wrFlags"],
    [() => wr.wrFlags = SendFlags.INLINE, TypeError, "setInlineData() sends inline"],
    [() => wr.atomicFetchAdd(1, 12, 1), RangeError, unaligned],
    [() => wr.atomicWrite(1, 4, new Uint8Array(8)), RangeError, unaligned],
    [() => wr.atomicWrite(1, 8, new Uint8Array(7)), RangeError, "length of value"],
    [() => wr.flush(1, 1, -1, 0, 0), RangeError, "len"],
    [() => wr.flush(1, 1, 1, 256, 0), RangeError, "type 256"],
    [() => wr.flush(1, 1, 1, 0, 256 as never), RangeError, "level 256"],
  );
  assertEquals([wr.length, wr.wrId, wr.wrFlags], [0, 0, SendFlags.SIGNALED]);
  wr.send();
  assertRefused(
    [() => wr.setInlineData(new Uint8Array(65)), RangeError, "allows 64"],
    [() => wr.setSgeList([mr, mr, mr, mr]), RangeError, "there is room for 3"],
  );
  wr.setSge(mr.sge(0, 8));
  for (let i = 1; i < CAP.maxSendWr; i++) wr.send();
  assertThrows(() => wr.send(), RangeError, "the send queue has room for 9");
  wr.complete();
  assertEquals(recorder.takeOf("ibv_wr_send").length, CAP.maxSendWr);
});

onExUd.test("WrBuilder.complete() checks as postSend() does, and posts nothing that it refuses", (parts) => {
  const { ex, mr, pd } = parts;
  const gone = new MemoryRegion(pd, 64, 0);
  const [ah, closed] = [handle(pd), handle(pd)];
  const built = (build: (wr: WrBuilder) => void, ...closing: Disposable[]) => () => {
    const wr = ex.wrStart();
    wr.send().setUdAddr(ah, 1, 1);
    build(wr);
    for (const one of closing) one[Symbol.dispose]();
    recorder.take();
    wr.complete();
  };
  const send = (wr: WrBuilder): WrBuilder => wr.send().setUdAddr(ah, 1, 1);
  const noHandle = "the address handle is disposed";
  const refused: [() => void, ErrorConstructor, string][] = [
    [built((wr) => wr.send()), TypeError, "it needs an address handle (ah)"],
    [built((wr) => send(wr).setSge(mr.sge(0, 1025))), RangeError, "its message has 1025 bytes"],
    [built((wr) => send(wr).setSge(gone.sge(0, 8)), gone), TypeError, "it is disposed"],
    [built((wr) => wr.send().setUdAddr(closed, 1, 1), closed), TypeError, noHandle],
    [built(() => {}, ex), TypeError, "queue pair: it is disposed"],
  ];
  for (const [call, type, message] of refused) assertThrows(call, type, message);
  assertEquals(steps(), []);
});

onExUd.test("WrBuilder.complete() aborts when a handle cannot be had in the middle", (parts) => {
  const { ex, pd } = parts;
  const hostile = Object.defineProperty(handle(pd), "unsafeHandle", {
    get(): never {
      throw new Error("no handle");
    },
  }) as AddressHandle;
  const wr = ex.wrStart();
  wr.send().setUdAddr(handle(pd), 1, 1);
  wr.send().setUdAddr(hostile, 1, 1);
  recorder.take();
  assertThrows(() => wr.complete(), Error, "no handle");
  const names = steps().map(([name]) => name);
  assertEquals([names[0], names.at(-1), names.includes("complete")], ["start", "abort", false]);
});

onExUd.test("WrBuilder.complete() gives the error of the provider, and keeps the handles", (parts) => {
  const { ex, pd } = parts;
  const ah = handle(pd);
  recorder.fail("ibv_wr_complete", "ENOMEM", { times: 1 });
  const wr = ex.wrStart();
  wr.send().setUdAddr(ah, 1, 1);
  const error = assertThrows(() => wr.complete(), VerbsError);
  assertEquals([error.verb, error.code, error.posted], ["ibv_wr_complete", "ENOMEM", undefined]);
  assertStringIncludes(error.message, "1 requests of UD");
  assertStringIncludes(error.hint!, "The queue is full");
  ah.close();
  assertEquals(recorder.live("ah"), 1);
});

onExRc.test("A builder that reads an element sets that of the request that was begun last then", ({ ex }) => {
  const wr = ex.wrStart();
  wr.sendInv(1);
  wr.setSge({
    addr: 5n,
    lkey: 1,
    get length(): number {
      wr.sendInv(2);
      return 8;
    },
  });
  wr.complete();
  const none = ["set_sge_list", 0, ""];
  const last = [["send_inv", 2], ["set_sge", 1, 5, 8]];
  assertEquals(steps(), [["start"], ["send_inv", 1], none, ...last, ["complete"]]);
});

onExRc.test("A builder that is replaced while it reads an element changes no request of the other", ({ ex }) => {
  const wr = ex.wrStart();
  wr.send();
  let other: WrBuilder | undefined;
  const replacing = {
    addr: 1n,
    lkey: 1,
    get length(): number {
      other = ex.wrStart().send();
      return 8;
    },
  };
  assertThrows(() => wr.setSge(replacing), TypeError, "another builder was started");
  other!.complete();
  assertEquals(steps(), [["start"], ["send"], ["set_sge_list", 0, ""], ["complete"]]);
});

onExRc.test("Code that runs while WrBuilder.bindMw() reads its attributes changes no other request", (parts) => {
  const { ex, pd, mr: plain } = parts;
  const mr = new MemoryRegion(pd, 64, AccessFlags.LOCAL_WRITE | AccessFlags.MW_BIND);
  const windows = [new MemoryWindow(pd, MwType.TYPE_2), new MemoryWindow(pd, MwType.TYPE_2)];
  const bindInfo = { mr, mwAccessFlags: 0 };
  const wr = ex.wrStart();
  wr.bindMw(windows[0]!, 0x11, {
    ...bindInfo,
    get length() {
      wr.bindMw(windows[1]!, 0x22, bindInfo);
      return 8;
    },
  });
  assertEquals(wr.length, 2);
  wr.complete();
  const binds = recorder.takeOf("ibv_wr_bind_mw");
  assertEquals(binds.map(({ args }) => [args.mw, args.rkey]), [["mw1", 0x22], ["mw0", 0x11]]);
  const first = ex.wrStart();
  let second: WrBuilder | undefined;
  const replace = {
    ...bindInfo,
    get length() {
      second = ex.wrStart();
      second.rdmaRead(1, 8).setSge(plain.sge(0, 8));
      return 8;
    },
  };
  assertThrows(() => first.bindMw(windows[0]!, 0x33, replace), TypeError, "another builder");
  second!.complete();
  assertEquals(recorder.takeOf("ibv_wr_bind_mw", "ibv_wr_rdma_read").length, 1);
});
