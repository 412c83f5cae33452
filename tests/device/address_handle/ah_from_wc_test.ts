// Address handles and addresses made from a completion and its GRH.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AddressHandle,
  type AhAttr,
  Gid,
  Grh,
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
  ipv4Grh,
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
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  left.qp.postSend({ sge: left.mr.slice(0, 8), ah, remoteQpn: right.qp.qpNum, remoteQkey: QKEY });
  (await waitFor(left.cq))[0]!.check();
  const [wc] = await waitFor(right.cq);
  return { wc: wc!.check(), grh: right.mr.grhAt(0) };
}

function ipv6Grh(sgid: Gid, dgid: Gid, nextHdr = 17): Grh {
  const bytes = new Uint8Array(Grh.SIZE);
  bytes[0] = 0x60;
  bytes[6] = nextHdr;
  bytes.set(sgid.bytes, 8);
  bytes.set(dgid.bytes, 24);
  return new Grh(bytes);
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
        left.mr.bytes().fill(0);
        left.qp.postRecv({ sge: left.mr.slice(0, 1024) });
        right.mr.bytes(2048, 5).set([1, 2, 3, 4, 5]);
        const sge = right.mr.slice(2048, 5);
        right.qp.postSend({ sge, ah, remoteQpn: wc.srcQp, remoteQkey: QKEY });
        (await waitFor(right.cq))[0]!.check();
        const [reply] = await waitFor(left.cq);
        assertEquals([reply!.check().byteLen, reply!.srcQp], [45, right.qp.qpNum], name);
        assertEquals([...left.mr.bytes(40, 5)], [1, 2, 3, 4, 5], name);
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

const REFUSALS: [string, (own: Gid, peer: Gid) => Grh | undefined, string, string][] = [
  ["the GRH is left out", () => undefined, "EPROTONOSUPPORT", "and grh was left out"],
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
    () => ipv4Grh("10.0.0.2", "224.0.0.9"),
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
    () => ipv4Grh("10.0.0.2", "192.0.2.1"),
    "EINVAL",
    "is not in the port's GID table",
  ],
  [
    "the packet went to a GID that the table has with another type",
    (own, peer) => ipv6Grh(peer, own, 27),
    "EINVAL",
    "is not in the port's GID table",
  ],
  [
    "an IPv4 header without a checksum lies behind a byte of IPv6",
    () => behindIpv6(17),
    "EINVAL",
    "Clear the first byte of a buffer before each post",
  ],
  [
    "the bytes before an IPv4 header without a checksum look like those of another protocol",
    () => behindIpv6(6),
    "EPROTONOSUPPORT",
    "Clear the first byte of a buffer before each post",
  ],
];

/** An IPv4 header without a checksum, behind what is left of an IPv6 header with this next header. */
function behindIpv6(nextHdr: number): Grh {
  const { bytes } = ipv4Grh("10.0.0.2", "10.0.0.1");
  bytes[0] = 0x60;
  bytes[6] = nextHdr;
  return new Grh(bytes);
}

for (const [when, make, code, hint] of REFUSALS) {
  deviceTest(
    `initAhFromWc(), AddressHandle.fromWc() and ReplyPath give ${code} when ${when}`,
    async () => {
      using context = openRxe();
      using pd = new ProtectionDomain(context);
      using path = new ReplyPath(pd, { portNum: PORT });
      const { gid } = gidOf(context, "ipv6");
      const grh = make(gid, Gid.parse("fd00::2"));
      const ofPath = [
        assertThrows(() => path.to(WITH_GRH, grh)),
        assertThrows(() => path.attr(WITH_GRH, grh)),
        await path.toAsync(WITH_GRH, grh).catch((error) => error),
      ] as VerbsError[];
      const errors = [
        assertThrows(() => initAhFromWc(context, PORT, WITH_GRH, grh)),
        await initAhFromWcAsync(context, PORT, WITH_GRH, grh).catch((error) => error),
        assertThrows(() => AddressHandle.fromWc(pd, PORT, WITH_GRH, grh)),
        await AddressHandle.fromWcAsync(pd, PORT, WITH_GRH, grh).catch((error) => error),
      ] as VerbsError[];
      for (const error of errors) {
        assertEquals(error.code, code);
        assertStringIncludes(error.message, hint);
      }
      for (const { message } of ofPath) assertEquals(message, errors[0]!.message);
      assertEquals(path.size, 0);
    },
  );
}
