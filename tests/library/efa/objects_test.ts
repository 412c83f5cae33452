// What the classes of ./efa ask the device for, on a libefa that takes the recorder for an adapter.
import "./fake.ts";
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertGreater, assertMatch, assertThrows } from "@std/assert";
import {
  efaAhNumber,
  EfaCompletionQueue,
  EfaWorkCompletionList,
  queryEfaDevice,
  queryEfaMr,
  SrdQueuePair,
} from "../../../efa.ts";
import {
  type AddressHandle,
  QpState,
  SendOpsFlags,
  VerbsError,
  WcOpcode,
  WcStatus,
  type WrBuilder,
  WrOpcode,
} from "../../../mod.ts";
import { RecorderObjects } from "../../provider/objects.ts";
import { complete } from "../registry/recorder_device.ts";

Deno.test("The attributes of an adapter, of a handle and of a region are read", () => {
  using fixture = new RecorderObjects();
  assertEquals(Object.values(queryEfaDevice(fixture.context)).every((value) => !value), true);
  const ah = fixture.ah();
  assertGreater(efaAhNumber(ah), 0);
  assertEquals(efaAhNumber(ah), efaAhNumber(ah));
  assertEquals(typeof queryEfaMr(fixture.mr), "object");
});

Deno.test("A completion has the GID of its sender, which is behind what all extended queues report", () => {
  using fixture = new RecorderObjects();
  using cq = new EfaCompletionQueue(fixture.context, { cqe: 4 });
  complete(cq);
  const [completion] = cq.poll();
  assertEquals(completion!.sgid?.toString(), "102::");
  assertEquals(completion!.wrId, 1n);
});

Deno.test("SrdQueuePair.activate() moves the queue pair with what was given, and nothing else", () => {
  using fixture = new RecorderObjects();
  const { pd, cq } = fixture;
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  using qp = new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap });
  assertThrows(() => new SrdQueuePair(pd, { recvCq: cq, cap } as never), TypeError, "sendCq");
  for (const rnrRetry of [undefined, 3]) {
    recorder.take();
    qp.activate({ qkey: 7, ...rnrRetry !== undefined && { rnrRetry } });
    assertEquals(qp.state, QpState.RTS);
    const calls = recorder.takeOf("ibv_modify_qp") as { args: Record<string, unknown> }[];
    const masks = calls.map(({ args }) => Number(Object.values(args).at(-1)));
    // STATE, PKEY_INDEX, PORT and QKEY; STATE; STATE, SQ_PSN, and RNR_RETRY if it was given.
    assertEquals(masks, [0x71, 1, 0x10001 + (rnrRetry === undefined ? 0 : 0x800)]);
    qp.modify({ qpState: QpState.RESET });
  }
});

Deno.test("A failed send of SRD is done as others are, and a failed receive is no send", () => {
  for (const isExtended of [false, true]) {
    using fixture = new RecorderObjects();
    const { pd, context, mr } = fixture;
    const cq = isExtended ? new EfaCompletionQueue(context, { cqe: 4 }) : fixture.cq;
    const cap = { maxSendWr: 4, maxRecvWr: 4 };
    const qp = new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap });
    qp.activate({ qkey: 7 });
    const ah = fixture.ah();
    const request = { sge: mr.sge(0, 8), ah, remoteQpn: 1, remoteQkey: 7 };
    qp.postSend([request, request]);
    ah.close();
    recorder.take();
    const { RECV, SEND } = WcOpcode;
    const ends = [[RECV, WcStatus.WR_FLUSH_ERR], [SEND, WcStatus.REM_INV_REQ_ERR], [SEND, 0]];
    const destroyed = ends.map(([opcode, status]) => {
      complete(cq, { opcode: opcode!, status: status!, qp_num: qp.qpNum });
      cq.poll();
      return recorder.takeOf("ibv_destroy_ah").length;
    });
    assertEquals(destroyed, [0, 0, 1]);
  }
});

const { SEND, RDMA_READ, RDMA_WRITE } = SendOpsFlags;

/** A queue pair with a builder on the recorder, and a request's receiver. */
function buildOn(
  fixture: RecorderObjects,
  sendOpsFlags?: number,
): { qp: SrdQueuePair; ah: AddressHandle } {
  const { pd, cq } = fixture;
  const cap = { maxSendWr: 4, maxRecvWr: 4, maxInlineData: 32 };
  const init = { sendCq: cq, recvCq: cq, cap, ...sendOpsFlags !== undefined && { sendOpsFlags } };
  const qp = new SrdQueuePair(pd, init);
  qp.activate({ qkey: 7 });
  recorder.take();
  return { qp, ah: fixture.ah() };
}

Deno.test("A builder of SRD gives RDMA its memory and its receiver, and posts what postSend() does not", () => {
  using fixture = new RecorderObjects();
  const { mr } = fixture;
  const { qp, ah } = buildOn(fixture, SEND | RDMA_READ | RDMA_WRITE);
  const wr = qp.wrStart();
  wr.rdmaRead(0x4242, 0x1_0000_0001n).setUdAddr(ah, 0xabcdef, 0x8000_0001).setSge(mr.sge(0, 8));
  wr.rdmaWrite(0x4343, 0x2000).setUdAddr(ah, 2, 3).setSge(mr.sge(8, 8));
  wr.send().setUdAddr(ah, 4, 5).setInlineData(new Uint8Array(2));
  recorder.take();
  wr.complete();
  const given = recorder.take().map(({ verb, args }) => {
    const { rkey, remote_addr, remote_qpn, remote_qkey } = args;
    const all = [rkey, remote_addr, remote_qpn, remote_qkey].filter((arg) => arg !== undefined);
    return [verb.replace("ibv_wr_", ""), ...all.map(Number)];
  });
  assertEquals(given, [
    ["start"],
    ["rdma_read", 0x4242, 0x1_0000_0001],
    ["set_ud_addr", 0xabcdef, 0x8000_0001],
    ["set_sge"],
    ["rdma_write", 0x4343, 0x2000],
    ["set_ud_addr", 2, 3],
    ["set_sge"],
    ["send"],
    ["set_ud_addr", 4, 5],
    ["set_inline_data"],
    ["complete"],
  ]);
  const request = { opcode: WrOpcode.RDMA_READ, rkey: 1, remoteAddr: 0, sge: mr.sge(0, 8) };
  assertThrows(() => qp.postSend(request), TypeError, "type SRD has no opcode RDMA_READ");
});

Deno.test("A builder of SRD refuses what the adapter cannot do, and posts nothing", () => {
  using fixture = new RecorderObjects();
  const { mr } = fixture;
  const { qp, ah } = buildOn(fixture, SEND | RDMA_READ | RDMA_WRITE | SendOpsFlags.LOCAL_INV);
  const read = (): WrBuilder => qp.wrStart().rdmaRead(1, 8);
  const closed = fixture.ah();
  closed.close();
  const refused: [() => unknown, ErrorConstructor, string][] = [
    [() => read().setSge(mr.sge(0, 8)).complete(), TypeError, "needs an address handle"],
    [() => qp.wrStart().localInv(1).setUdAddr(ah, 1, 1).complete(), TypeError, "has no opcode"],
    [() => qp.wrStart().rdmaWriteImm(1, 8, 1), TypeError, "SendOpsFlags.RDMA_WRITE_WITH_IMM"],
    [() => qp.wrStart().rdmaWrite(1, 8).setInlineData(new Uint8Array(1)), TypeError, "inline"],
    [() => read().setUdAddr(closed, 1, 1), TypeError, "is disposed"],
    [() => read().setUdAddr(ah, 2 ** 24, 1), RangeError, "remoteQpn"],
    [() => read().setUdAddr(ah, 1, -1), RangeError, "remoteQkey"],
  ];
  for (const [call, type, message] of refused) assertThrows(call, type, message);
  assertEquals(recorder.takeOf("ibv_wr_start"), []);
});

Deno.test("Without operations a builder of SRD sends, and a refusal of libefa keeps no handle", () => {
  using fixture = new RecorderObjects();
  const { qp, ah } = buildOn(fixture);
  assertEquals(qp.sendOpsFlags, SEND | SendOpsFlags.SEND_WITH_IMM);
  assertThrows(() => qp.wrStart().rdmaRead(1, 8), TypeError, "SendOpsFlags.RDMA_READ");
  recorder.fail("ibv_wr_complete", "ENOMEM", { times: 1 });
  const send = (): void => qp.wrStart().send().setUdAddr(ah, 1, 1).complete();
  assertThrows(send, VerbsError, "ibv_wr_complete");
  ah.close();
  assertEquals(recorder.live("ah"), 0);
});

Deno.test("EfaWorkCompletionList has no GID of a completion that it has no room for", () => {
  const batch = new EfaWorkCompletionList(2);
  assertEquals([batch.capacity, batch.sgid(1)], [2, undefined]);
  assertThrows(() => batch.sgid(2), RangeError, "room for 2");
  assertThrows(() => batch.sgid("0" as never), TypeError, "index");
});

Deno.test("Objects of an adapter that are refused name what classes of verbs share", () => {
  using fixture = new RecorderObjects();
  const { context, pd, cq } = fixture;
  const cap = { maxSendWr: 4, maxRecvWr: 4 };
  const makers = {
    ibv_create_cq_ex: () => new EfaCompletionQueue(context, { cqe: 4 }),
    ibv_create_qp_ex: () => new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap }),
  };
  const causes: readonly ["ENOSPC" | "EMFILE" | "EIO", RegExp][] = [
    [
      "ENOSPC",
      /the device no (completion queue: it has 3 \(maxCq\)|queue pair: it has 4 \(maxQp\))/,
    ],
    ["EMFILE", /"ulimit -n"/],
    ["EIO", /^The device is gone/],
  ];
  recorder.answer("ibv_query_device", {
    max_cq: 3,
    max_qp: 4,
    max_cqe: 9,
    max_qp_wr: 9,
    max_sge: 9,
  });
  for (const [verb, make] of Object.entries(makers)) {
    for (const [code, words] of causes) {
      recorder.fail(verb, code, { times: 1 });
      const { verb: told, hint } = assertThrows(make, VerbsError);
      assertMatch(`${told}: ${hint}`, /^efadv_create_(cq|qp_ex): /);
      assertMatch(hint!, words);
    }
  }
  recorder.fail("ibv_create_cq_ex", "EINVAL", { times: 1 });
  const tooLarge = (): unknown => new EfaCompletionQueue(context, { cqe: 10 });
  assertThrows(tooLarge, VerbsError, "cqe 10 is too large: the device allows up to 9");
});
