// What queue pairs are made from, the groups they are in, and the handles that several of them use.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../provider/recorder.ts";
import { AddressHandle, Gid, QpType, QueuePair, VerbsError } from "../../../mod.ts";
import type { RecordedStruct } from "../../provider/records.ts";
import { handle, onRc, onUd, QKEY } from "../work/recorded.ts";

const { RC, UD } = QpType;
const CAP = { maxSendWr: 4, maxRecvWr: 4 };

onRc.test("new QueuePair() has room for one element in each queue unless told otherwise", (parts) => {
  const { pd, cq } = parts;
  const capOf = (cap: object): number[] => {
    new QueuePair(pd, { type: RC, sendCq: cq, recvCq: cq, cap: { ...CAP, ...cap } });
    const { args } = recorder.takeOne("ibv_create_qp");
    const init = Object.values(args).find((arg) => (arg as RecordedStruct).fields !== undefined);
    const { fields } = init as RecordedStruct;
    return ["cap.max_send_sge", "cap.max_recv_sge"].map((name) => Number(fields[name]));
  };
  assertEquals(capOf({}), [1, 1]);
  assertEquals(capOf({ maxSendSge: 3, maxRecvSge: 2 }), [3, 2]);
});

onRc.test("QueuePair.init() uses all 24 bits of the packet sequence number", ({ pd, cq }) => {
  const qp = new QueuePair(pd, { type: RC, sendCq: cq, recvCq: cq, cap: CAP });
  recorder.overwrite("qp1", "state", 0);
  {
    using _stub = stub(crypto, "getRandomValues", <T>(array: T): T => {
      (array as Uint32Array).fill(0xffff_ffff);
      return array;
    });
    qp.init({ port: 1, gidIndex: 0 });
  }
  assertEquals(qp.address.psn, 0xff_ffff);
});

onUd.test("An address handle that two queue pairs use lives until the sends of both are done", (parts) => {
  const { qp: one, pd, cq } = parts;
  const two = new QueuePair(pd, { type: UD, sendCq: cq, recvCq: cq, cap: CAP });
  recorder.overwrite("qp1", "state", 0);
  two.activateUd({ port: 1, qkey: QKEY });
  for (const order of [[one, two], [two, one]] as const) {
    const ah = handle(pd);
    for (const qp of [one, two]) qp.postSend({ ah, remoteQpn: 5, remoteQkey: QKEY });
    ah.close();
    for (const [i, qp] of order.entries()) {
      assertEquals([i, recorder.live("ah")], [i, 1]);
      recorder.complete("cq0", { qp_num: qp.qpNum });
      cq.poll();
    }
    assertEquals(recorder.live("ah"), 0);
  }
});

onUd.test("AddressHandle refuses ports that the device does not have, in every form", ({ pd }) => {
  recorder.take();
  for (const portNum of [0, 2, 255]) {
    const message = `Cannot use port ${portNum}`;
    assertThrows(() => new AddressHandle(pd, { portNum, dlid: 1 }), RangeError, message);
    const wc = { wcFlags: 0, slid: 1, sl: 0, dlidPathBits: 0 };
    assertThrows(() => AddressHandle.fromWc(pd, portNum, wc), RangeError, message);
  }
  assertEquals(recorder.takeOf("ibv_create_ah", "ibv_create_ah_from_wc"), []);
});

onUd.test("AddressHandle names an index beyond the table, and families only of peers", (parts) => {
  const { pd, context } = parts;
  recorder.fail("ibv_create_ah", "EINVAL");
  const { gidTblLen } = context.queryPort(1);
  const hintOf = (dgid: string, sgidIndex: number): string | undefined => {
    const grh = { dgid: Gid.parse(dgid), sgidIndex };
    return assertThrows(() => new AddressHandle(pd, { portNum: 1, grh }), VerbsError).hint;
  };
  assertStringIncludes(
    hintOf("fe80::1", gidTblLen)!,
    `GID index ${gidTblLen} is beyond the port's table of ${gidTblLen}`,
  );
  recorder.answerBytes("ibv_query_gid", Gid.parse("10.0.0.1").bytes);
  assertStringIncludes(hintOf("fd00::1", 0)!, "The GIDs are of different families");
  assertEquals(hintOf("10.0.0.2", 0), undefined);
  assertEquals(hintOf("ff0e::1", 0), undefined);
});
