// Address handles without a GRH, which only InfiniBand has: on the stub's port 1.
import { assertEquals } from "@std/assert";
import {
  AddressHandle,
  Grh,
  initAhFromWc,
  initAhFromWcAsync,
  QpType,
  WcFlags,
  type WorkCompletion,
} from "../../../mod.ts";
import { type End, makeEnd, Pair, QKEY, until, waitFor } from "../setup.ts";
import { calls, deliverDatagram, IB_LID, IB_PORT, lastCall, STUB, stubTest } from "../stub.ts";

const DATA = new TextEncoder().encode("over InfiniBand");

/** Two UD queue pairs on the InfiniBand port, ready to send. */
function openPair(): Pair {
  return new Pair((pd) => {
    const end = makeEnd(pd, QpType.UD);
    end.qp.activateUd({ portNum: IB_PORT, qkey: QKEY });
    return end;
  }, STUB);
}

/** Sends the data by an address handle, and has the other end receive it. */
async function exchange(
  from: End,
  to: End,
  post: (sge: ReturnType<End["mr"]["sge"]>) => void,
): Promise<WorkCompletion> {
  to.mr.sge(0, 256).bytes.fill(0xee);
  to.qp.postRecv({ sge: to.mr.sge(0, 256) });
  from.mr.sge(1024, DATA.length).bytes.set(DATA);
  post(from.mr.sge(1024, DATA.length));
  const [wc] = await waitFor(to.cq);
  assertEquals(wc!.check().byteLen, Grh.SIZE + DATA.length);
  assertEquals(to.mr.sge(Grh.SIZE, DATA.length).bytes, DATA);
  await waitFor(from.cq);
  return wc!;
}

async function sent(end: End, post: () => void): Promise<Record<string, unknown>> {
  const before = calls("send").length;
  post();
  await until("the send is recorded", () => calls("send").length > before);
  (await waitFor(end.cq))[0]!.check();
  return lastCall("send")!;
}

stubTest("new AddressHandle() needs no GRH on an InfiniBand port", async () => {
  using pair = openPair();
  const { left, right } = pair;
  const attr = { portNum: IB_PORT, dlid: IB_LID };
  for (
    const make of [
      () => new AddressHandle(pair.pd, attr),
      () => AddressHandle.createAsync(pair.pd, attr),
    ]
  ) {
    using ah = await make();
    const wc = await exchange(left, right, (sge) => {
      left.qp.postSend({ sge, ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
    });
    assertEquals([wc.wcFlags & WcFlags.GRH, wc.slid, wc.srcQp], [0, IB_LID, left.qp.qpNum]);
  }
  // the place of the GRH
  assertEquals(right.mr.sge(0, Grh.SIZE).bytes, new Uint8Array(Grh.SIZE).fill(0xee));
});

stubTest("AddressHandle.fromWc() makes a reply's address with a GRH", async () => {
  using pair = openPair();
  const { context, left, right } = pair;
  const { gid, gidIndex } = context.queryGidTable(IB_PORT)[1]!;
  const grh = { dgid: gid, sgidIndex: gidIndex, hopLimit: 1 };
  using there = new AddressHandle(left.qp.pd, { portNum: IB_PORT, dlid: IB_LID, grh });
  const wc = await exchange(left, right, (sge) => {
    left.qp.postSend({ sge, ah: there, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  });
  assertEquals(wc.wcFlags & WcFlags.GRH, WcFlags.GRH);
  const received = right.mr.grhAt(0);
  assertEquals([received.sgid.toString(), received.dgid.toString()], [`${gid}`, `${gid}`]);
  using back = AddressHandle.fromWc(right.qp.pd, IB_PORT, wc, received);
  const answer = await exchange(right, left, (sge) => {
    right.qp.postSend({ sge, ah: back, remoteQpn: wc.srcQp, remoteQkey: QKEY });
  });
  assertEquals(answer.wcFlags & WcFlags.GRH, WcFlags.GRH);
});

const FROM_AFAR = { slid: 0x4321, srcQp: 0x654321, sl: 13, pathBits: 6, data: DATA };

/** Has a datagram arrive from another port of the fabric. */
async function receiveFromAfar({ qp, mr, cq }: End): Promise<WorkCompletion> {
  qp.postRecv({ sge: mr.sge(0, 256) });
  deliverDatagram(qp, FROM_AFAR);
  const [wc] = await waitFor(cq);
  const { slid, srcQp, sl, dlidPathBits } = wc!.check();
  assertEquals({ slid, srcQp, sl, pathBits: dlidPathBits, data: DATA }, FROM_AFAR);
  return wc!;
}

stubTest(
  "initAhFromWc() and AddressHandle.fromWc() lead a reply back over the fabric",
  async () => {
    using pair = openPair();
    const { context, left } = pair;
    const { qp } = left;
    const wc = await receiveFromAfar(left);
    const ways = [
      () => new AddressHandle(qp.pd, initAhFromWc(context, IB_PORT, wc)),
      async () =>
        await AddressHandle.createAsync(qp.pd, await initAhFromWcAsync(context, IB_PORT, wc)),
      () => AddressHandle.fromWc(qp.pd, IB_PORT, wc),
      () => AddressHandle.fromWcAsync(qp.pd, IB_PORT, wc),
    ];
    for (const make of ways) {
      using ah = await make();
      const call = await sent(left, () => {
        qp.postSend({ ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
      });
      assertEquals(call.qp, qp.qpNum);
      assertEquals(
        [call.dlid, call.sl, call.src_path_bits, call.is_global, call.static_rate, call.remote_qpn],
        [FROM_AFAR.slid, FROM_AFAR.sl, FROM_AFAR.pathBits, 0, 0, FROM_AFAR.srcQp],
      );
    }
  },
);
