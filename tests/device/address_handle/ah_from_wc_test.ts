// Address handles and addresses made from a completion and its GRH.
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  type AhAttr,
  Gid,
  Grh,
  initAhFromWc,
  initAhFromWcAsync,
  ProtectionDomain,
  VerbsError,
  type WcAddress,
  WcFlags,
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
} from "../setup.ts";

const ADDRESS: WcAddress = { wcFlags: WcFlags.GRH, slid: 0, sl: 0, dlidPathBits: 0 };

/** Sends a datagram from left to right, with a traffic class to know it by. */
async function request(pair: Pair, family: Family): Promise<{ wc: WorkCompletion; grh: Grh }> {
  const { left, right } = pair;
  const attr = selfAddress(pair.context, family);
  using ah = new AddressHandle(pair.pd, { ...attr, grh: { ...attr.grh!, trafficClass: 0x24 } });
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  left.qp.postSend({ sge: left.mr.slice(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  (await waitFor(left.cq))[0]!.check();
  const [wc] = await waitFor(right.cq);
  return { wc: wc!.check(), grh: right.mr.grhAt(0) };
}

function ipv4Grh(saddr: Gid, daddr: Gid): Grh {
  const bytes = new Uint8Array(Grh.SIZE);
  bytes[20] = 0x45;
  bytes.set(saddr.bytes.subarray(12), 32);
  bytes.set(daddr.bytes.subarray(12), 36);
  return new Grh(bytes);
}

function ipv6Grh(sgid: Gid, dgid: Gid, nextHdr = 17): Grh {
  const bytes = new Uint8Array(Grh.SIZE);
  bytes[0] = 0x60;
  bytes[6] = nextHdr;
  bytes.set(sgid.bytes, 8);
  bytes.set(dgid.bytes, 24);
  return new Grh(bytes);
}

for (const family of ["ipv4", "ipv6", "link-local"] as const) {
  deviceTest(
    `AddressHandle.fromWc() makes a handle that replies reach the sender by, over ${family}`,
    async () => {
      using pair = udPair();
      const { wc, grh } = await request(pair, family);
      const { left, right, pd } = pair;
      for (
        const ah of [
          AddressHandle.fromWc(pd, PORT, wc, grh),
          await AddressHandle.createFromWc(pd, PORT, wc, grh),
        ]
      ) {
        left.mr.bytes().fill(0);
        left.qp.postRecv({ sge: left.mr.slice(0, 1024) });
        right.mr.bytes(2048, 5).set([1, 2, 3, 4, 5]);
        const sge = right.mr.slice(2048, 5);
        right.qp.postSend({ sge, ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
        (await waitFor(right.cq))[0]!.check();
        const [reply] = await waitFor(left.cq);
        assertEquals([reply!.check().byteLen, reply!.srcQp], [45, right.qp.qpNum]);
        assertEquals([...left.mr.bytes(40, 5)], [1, 2, 3, 4, 5]);
        ah.close();
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
    assertEquals(JSON.stringify(attr), JSON.stringify(expected));
    assertEquals(await initAhFromWcAsync(pair.context, PORT, wc, grh), attr);
    new AddressHandle(pair.pd, attr).close();
  });
}

deviceTest("initAhFromWc() gives the LID path when the completion has no GRH", () => {
  using context = openRxe();
  const wc = { wcFlags: WcFlags.WITH_IMM, slid: 0x1234, sl: 5, dlidPathBits: 3 };
  const attr = initAhFromWc(context, PORT, wc);
  assertEquals(attr.isGlobal, false);
  assertEquals([attr.dlid, attr.sl, attr.srcPathBits, attr.portNum], [0x1234, 5, 3, PORT]);
  assertEquals(attr.grh.dgid.isZero, true);
});

deviceTest("AddressHandle.fromWc() says that RoCE needs a GRH", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const wc = { ...ADDRESS, wcFlags: 0 };
  const error = assertThrows(() => AddressHandle.fromWc(pd, PORT, wc), VerbsError);
  assertEquals([error.verb, error.code], ["ibv_create_ah_from_wc", "EINVAL"]);
  assertStringIncludes(error.hint!, "The completion has no GRH");
  const late = await AddressHandle.createFromWc(pd, PORT, wc).catch((error) => error);
  assertEquals(late.message, error.message);
});

deviceTest("initAhFromWc() reads zeros when the GRH is left out", () => {
  using context = openRxe();
  const error = assertThrows(() => initAhFromWc(context, PORT, ADDRESS), VerbsError);
  assertEquals(error.code, "EPROTONOSUPPORT");
});

const REFUSALS: [string, (own: Gid, peer: Gid) => Grh, string, string][] = [
  ["the GRH is no header", () => new Grh(new Uint8Array(40)), "EPROTONOSUPPORT", "neither an IPv6"],
  [
    "the next header is of another protocol",
    (own, peer) => ipv6Grh(peer, own, 6),
    "EPROTONOSUPPORT",
    "The next header 6 of the GRH is neither UDP (17) nor the InfiniBand BTH (27)",
  ],
  [
    "the packet went to an IPv6 multicast group",
    (_, peer) => ipv6Grh(peer, Gid.parse("ff0e::1")),
    "EINVAL",
    "sent to a multicast group",
  ],
  [
    "the packet went to an IPv4 multicast group",
    () => ipv4Grh(Gid.parse("10.0.0.2"), Gid.parse("224.0.0.9")),
    "EINVAL",
    "sent to a multicast group",
  ],
  [
    "the packet went to a GID that the table lacks",
    (_, peer) => ipv6Grh(peer, Gid.parse("2001:db8::1")),
    "EINVAL",
    "is not in the port's GID table",
  ],
  [
    "the packet went to an IPv4 address that the table lacks",
    () => ipv4Grh(Gid.parse("10.0.0.2"), Gid.parse("192.0.2.1")),
    "EINVAL",
    "is not in the port's GID table",
  ],
  [
    "the packet went to a GID that the table has with another type",
    (own, peer) => ipv6Grh(peer, own, 27),
    "EINVAL",
    "is not in the port's GID table",
  ],
];

for (const [when, make, code, hint] of REFUSALS) {
  deviceTest(`initAhFromWc() and AddressHandle.fromWc() give ${code} when ${when}`, async () => {
    using context = openRxe();
    using pd = new ProtectionDomain(context);
    const { gid } = gidOf(context, "ipv6");
    const grh = make(gid, Gid.parse("fd00::2"));
    const errors = [
      assertThrows(() => initAhFromWc(context, PORT, ADDRESS, grh)),
      await initAhFromWcAsync(context, PORT, ADDRESS, grh).catch((error) => error),
      assertThrows(() => AddressHandle.fromWc(pd, PORT, ADDRESS, grh)),
      await AddressHandle.createFromWc(pd, PORT, ADDRESS, grh).catch((error) => error),
    ] as VerbsError[];
    assertEquals(errors.map((error) => error.code), [code, code, code, code]);
    for (const error of errors) assertStringIncludes(error.message, hint);
  });
}

deviceTest("initAhFromWc() and fromWc() refuse bad arguments before native code", async () => {
  using context = openRxe();
  using pd = new ProtectionDomain(context);
  const { gid } = gidOf(context, "ipv4");
  const grh = ipv4Grh(gid, gid);
  for (const port of [0, 2, NaN]) {
    assertThrows(() => initAhFromWc(context, port, ADDRESS, grh), RangeError);
    await assertRejects(() => initAhFromWcAsync(context, port, ADDRESS, grh), RangeError);
    assertThrows(() => AddressHandle.fromWc(pd, port, ADDRESS, grh), RangeError);
    await assertRejects(() => AddressHandle.createFromWc(pd, port, ADDRESS, grh), RangeError);
  }
  const bytes = grh.bytes as unknown as Grh;
  assertThrows(() => initAhFromWc(context, PORT, ADDRESS, bytes), TypeError, "it is not a Grh");
  assertThrows(
    () => AddressHandle.fromWc(pd, PORT, ADDRESS, bytes),
    TypeError,
    "it is not a Grh",
  );
});

deviceTest("initAhFromWc() and AddressHandle.fromWc() refuse a disposed object", () => {
  const context = openRxe();
  const pd = new ProtectionDomain(context);
  context.close();
  assertThrows(() => initAhFromWc(context, PORT, ADDRESS), TypeError, "it is disposed");
  assertThrows(() => AddressHandle.fromWc(pd, PORT, ADDRESS), TypeError, "it is disposed");
});
