// What the classes of ./efa ask the device for, on a libefa that takes the recorder for an adapter.
import "./fake.ts";
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertGreater, assertThrows } from "@std/assert";
import {
  efaAhNumber,
  EfaCompletionQueue,
  queryEfaDevice,
  queryEfaMr,
  SrdQueuePair,
} from "../../../efa.ts";
import { QpState, WcOpcode, WcStatus } from "../../../mod.ts";
import { Fixture } from "../../provider/fixture.ts";
import { complete } from "../registry/bed.ts";

Deno.test("The attributes of an adapter, of a handle and of a region are read", () => {
  using fixture = new Fixture();
  assertEquals(Object.values(queryEfaDevice(fixture.context)).every((value) => !value), true);
  const ah = fixture.ah();
  assertGreater(efaAhNumber(ah), 0);
  assertEquals(efaAhNumber(ah), efaAhNumber(ah));
  assertEquals(typeof queryEfaMr(fixture.mr), "object");
});

Deno.test("A completion tells the GID of its sender, which is behind what all extended queues report", () => {
  using fixture = new Fixture();
  using cq = new EfaCompletionQueue(fixture.context, { cqe: 4 });
  complete(cq);
  const [completion] = cq.poll();
  assertEquals(completion!.sgid?.toString(), "102::");
  assertEquals(completion!.wrId, 1n);
});

Deno.test("SrdQueuePair.activate() moves the queue pair with what was given, and nothing else", () => {
  using fixture = new Fixture();
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
    using fixture = new Fixture();
    const { pd, context, mr } = fixture;
    const cq = isExtended ? new EfaCompletionQueue(context, { cqe: 4 }) : fixture.cq;
    const cap = { maxSendWr: 4, maxRecvWr: 4 };
    const qp = new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap });
    qp.activate({ qkey: 7 });
    const ah = fixture.ah();
    const request = { sge: mr.slice(0, 8), ah, remoteQpn: 1, remoteQkey: 7 };
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
