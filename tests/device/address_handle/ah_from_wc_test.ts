// Address handles and addresses made from a completion and its GRH.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  type AhAttr,
  type Grh,
  initAhFromWc,
  initAhFromWcAsync,
  ProtectionDomain,
  ReplyPath,
  VerbsError,
  type WorkCompletion,
} from "../../../mod.ts";
import {
  deviceTest,
  type Family,
  gidOf,
  openRxe,
  type Pair,
  PORT,
  QKEY,
  selfAddress,
  udPair,
  waitFor,
  WITH_GRH,
} from "../setup.ts";

/** A datagram that arrived, and what replies to it are made with. */
interface Received {
  readonly pd: ProtectionDomain;
  readonly path: ReplyPath;
  readonly wc: WorkCompletion;
  readonly grh: Grh;
}

/** Sends a datagram from left to right, with a traffic class to know it by. */
async function request(pair: Pair, family: Family): Promise<{ wc: WorkCompletion; grh: Grh }> {
  const { left, right } = pair;
  const attr = selfAddress(pair.context, family);
  using ah = new AddressHandle(pair.pd, { ...attr, grh: { ...attr.grh!, trafficClass: 0x24 } });
  right.qp.postRecv({ sge: right.mr.sge(0, 1024) });
  left.qp.postSend({ sge: left.mr.sge(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  (await waitFor(left.cq))[0]!.check();
  const [wc] = await waitFor(right.cq);
  return { wc: wc!.check(), grh: right.mr.grhAt(0) };
}

/** Everything that answers a datagram. */
const WAYS: Readonly<Record<string, (of: Received) => AddressHandle | Promise<AddressHandle>>> = {
  "AddressHandle.fromWc()": ({ pd, wc, grh }) => AddressHandle.fromWc(pd, PORT, wc, grh),
  "AddressHandle.fromWcAsync()": ({ pd, wc, grh }) => AddressHandle.fromWcAsync(pd, PORT, wc, grh),
  "initAhFromWc()": ({ pd, wc, grh }) =>
    new AddressHandle(pd, initAhFromWc(pd.context, PORT, wc, grh)),
  "ReplyPath.to()": ({ path, wc, grh }) => path.to(wc, grh),
  "ReplyPath.toAsync()": ({ path, wc, grh }) => path.toAsync(wc, grh),
};

for (const family of ["ipv4", "ipv6", "link-local"] as const) {
  deviceTest(
    `AddressHandle.fromWc() makes a handle that replies reach the sender by, over ${family}`,
    async () => {
      using pair = udPair();
      const { wc, grh } = await request(pair, family);
      const { left, right, pd } = pair;
      using path = new ReplyPath(pd, { portNum: PORT });
      for (const [name, make] of Object.entries(WAYS)) {
        using ah = await make({ pd, path, wc, grh });
        left.mr.bytes.fill(0);
        left.qp.postRecv({ sge: left.mr.sge(0, 1024) });
        right.mr.sge(2048, 5).bytes.set([1, 2, 3, 4, 5]);
        const sge = right.mr.sge(2048, 5);
        right.qp.postSend({ sge, ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
        (await waitFor(right.cq))[0]!.check();
        const [reply] = await waitFor(left.cq);
        assertEquals([reply!.check().byteLen, reply!.srcQp], [45, right.qp.qpNum], name);
        assertEquals([...left.mr.sge(40, 5).bytes], [1, 2, 3, 4, 5], name);
      }
    },
  );

  deviceTest(`initAhFromWc() derives the sender's address over ${family}`, async () => {
    using pair = udPair();
    const { wc, grh } = await request(pair, family);
    const { gid, gidIndex } = gidOf(pair.context, family);
    const attr = initAhFromWc(pair.context, PORT, wc, grh);
    const hopLimit = grh.ipVersion === 4 ? grh.ipv4.ttl : grh.hopLimit;
    const expected: AhAttr = {
      grh: { dgid: gid, flowLabel: 0, sgidIndex: gidIndex, hopLimit, trafficClass: 0x24 },
      dlid: 0,
      sl: 0,
      srcPathBits: 0,
      staticRate: 0,
      isGlobal: true,
      portNum: PORT,
    };
    using path = new ReplyPath(pair.pd, { portNum: PORT });
    const others = [
      attr,
      await initAhFromWcAsync(pair.context, PORT, wc, grh),
      path.attr(wc, grh),
    ];
    for (const each of others) assertEquals(JSON.stringify(each), JSON.stringify(expected));
  });
}

deviceTest("AddressHandle.fromWc() says that RoCE needs a GRH", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const wc = { ...WITH_GRH, wcFlags: 0 };
  const error = assertThrows(() => AddressHandle.fromWc(pd, PORT, wc), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_ah_from_wc", "EINVAL"]);
  assertStringIncludes(error.hint!, "The completion has no GRH");
  const late = await AddressHandle.fromWcAsync(pd, PORT, wc).catch((error) => error);
  assertEquals(late.message, error.message);
});
