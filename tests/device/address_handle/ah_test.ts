// Address handles made from an address.
import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import {
  AddressHandle,
  type AhAttrInit,
  Gid,
  type GidEntry,
  Grh,
  VerbsError,
  WcStatus,
} from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import {
  deviceTest,
  type Family,
  gidOf,
  type Pair,
  PORT,
  rxe,
  selfAddress,
  udPair,
  waitFor,
} from "../setup.ts";

/** Sends a datagram from left to right and gives the GRH it came with. */
async function grhThrough({ left, right, toRight }: Pair, ah: AddressHandle): Promise<Grh> {
  right.qp.postRecv({ sge: right.mr.sge(0, 1024) });
  const sge = left.mr.sge(0, 16);
  left.qp.postSend({ ...toRight, sge, ah });
  (await waitFor(left.cq))[0]!.check();
  assertEquals((await waitFor(right.cq))[0]!.check().byteLen, Grh.SIZE + 16);
  return right.mr.grhAt(0);
}

const FAMILIES: [Family, version: number, trafficClass: number][] = [
  ["ipv4", 4, 0x68],
  ["ipv6", 6, 0xa5],
  ["link-local", 6, 0],
];

for (const [family, version, trafficClass] of FAMILIES) {
  deviceTest(
    `new AddressHandle() makes a handle that datagrams reach their peer by, over ${family}`,
    async () => {
      using pair = udPair();
      const attr = selfAddress(pair.context, family);
      using ah = new AddressHandle(pair.pd, { ...attr, grh: { ...attr.grh!, trafficClass } });
      const grh = await grhThrough(pair, ah);
      const { gid } = gidOf(pair.context, family);
      assertEquals(grh.ipVersion, version);
      assertEquals([grh.sgid.toString(), grh.dgid.toString()], [gid.toString(), gid.toString()]);
      assertEquals(version === 4 ? grh.ipv4.tos : grh.trafficClass, trafficClass);
    },
  );
}

const NOBODY = Gid.parse("2001:db8::9");
/** What the kernel refuses, and why, by the GIDs of both families. */
const REFUSED: [string, (v4: GidEntry, v6: GidEntry) => Partial<AhAttrInit>, string, RegExp][] = [
  ["that RoCE needs a GRH", () => ({ dlid: 7 }), "EINVAL", /^Port 1 is Ethernet \(RoCE\), where/],
  [
    "that isGlobal denies the GRH",
    ({ gid, gidIndex }) => ({ isGlobal: false, grh: { dgid: gid, sgidIndex: gidIndex } }),
    "EINVAL",
    /every address needs a GRH/,
  ],
  [
    "that IPv6 cannot reach IPv4",
    (v4, v6) => ({ grh: { dgid: v4.gid, sgidIndex: v6.gidIndex } }),
    "EINVAL",
    /^The GIDs are of different families: \S+ cannot reach ::ffff:\S+$/,
  ],
  [
    "that IPv4 cannot reach IPv6",
    (v4, v6) => ({ grh: { dgid: v6.gid, sgidIndex: v4.gidIndex } }),
    "EINVAL",
    /: ::ffff:\S+ cannot reach \S+$/,
  ],
  [
    "which slot is empty",
    ({ gid }) => ({ grh: { dgid: gid, sgidIndex: 255 } }),
    "ENODATA",
    /^Slot 255 of the GID table is empty/,
  ],
  [
    "which peer has no route",
    (_, { gidIndex }) => ({ grh: { dgid: NOBODY, sgidIndex: gidIndex } }),
    "ENETUNREACH",
    /^There is no route from GID index \d+ to 2001:db8::9$/,
  ],
];

for (const [what, attr, code, hint] of REFUSED) {
  deviceTest(`new AddressHandle() says ${what}`, () => {
    using device = rxe();
    const { context, pd } = device;
    const given = attr(gidOf(context, "ipv4"), gidOf(context, "ipv6"));
    const error = assertThrows(
      () => new AddressHandle(pd, { portNum: PORT, ...given }),
      VerbsError,
    );
    assertEquals([error.verb, error.code], ["ibv_create_ah", code]);
    assertStringIncludes(error.message, "Cannot create address handle (port 1, ");
    assertMatch(error.hint!, hint);
  });
}

// The library tests have each way in which sends end.
deviceTest("AddressHandle that is disposed lives until its send is polled", async () => {
  using pair = udPair();
  const { left, right, ah } = pair;
  using destroyed = spy(verbs(), "ibv_destroy_ah");
  right.qp.postRecv({ sge: right.mr.sge(0, 1024) });
  left.qp.postSend({ ...pair.toRight, sge: left.mr.sge(0, 8) });
  ah.close();
  assertEquals(ah.disposed, true);
  assertEquals((await waitFor(right.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 0);
  assertEquals((await waitFor(left.cq))[0]!.status, WcStatus.SUCCESS);
  assertSpyCalls(destroyed, 1);
  assertEquals(destroyed.calls[0]!.returned, 0);
});
