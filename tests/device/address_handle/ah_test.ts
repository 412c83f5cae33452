// Address handles made from an address.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { spy } from "@std/testing/mock";
import {
  AddressHandle,
  type AhAttrInit,
  Gid,
  Grh,
  ProtectionDomain,
  VerbsError,
} from "../../../mod.ts";
import { verbs } from "../../../ffi/library.ts";
import { ahAttrCodec } from "../../../types/address/ah_attr.ts";
import {
  deviceTest,
  type Family,
  gidOf,
  openRxe,
  type Pair,
  PORT,
  rxe,
  selfAddress,
  udPair,
  waitFor,
} from "../setup.ts";

/** Sends a datagram from left to right and gives the GRH it came with. */
async function grhThrough({ left, right, toRight }: Pair, ah: AddressHandle): Promise<Grh> {
  right.qp.postRecv({ sge: right.mr.slice(0, 1024) });
  const sge = left.mr.slice(0, 16);
  left.qp.postSend({ ...toRight, sge, ah });
  (await waitFor(left.cq))[0]!.check();
  assertEquals((await waitFor(right.cq))[0]!.check().byteLen, Grh.SIZE + 16);
  return right.mr.grhAt(0);
}

function refusal(attr: AhAttrInit): VerbsError {
  using device = rxe();
  const error = assertThrows(() => new AddressHandle(device.pd, attr), VerbsError);
  assertEquals(error.verb, "ibv_create_ah");
  assertStringIncludes(error.message, "Cannot create address handle (port 1, ");
  return error;
}

const FAMILIES: [Family, number][] = [["ipv4", 4], ["ipv6", 6], ["link-local", 6]];

for (const [family, version] of FAMILIES) {
  deviceTest(
    `new AddressHandle() makes a handle that datagrams reach their peer by, over ${family}`,
    async () => {
      using pair = udPair();
      using ah = new AddressHandle(pair.pd, selfAddress(pair.context, family));
      const grh = await grhThrough(pair, ah);
      const { gid } = gidOf(pair.context, family);
      assertEquals(grh.ipVersion, version);
      assertEquals([grh.sgid.toString(), grh.dgid.toString()], [gid.toString(), gid.toString()]);
    },
  );
}

for (const [family, trafficClass] of [["ipv6", 0xa5], ["ipv4", 0x68]] as const) {
  deviceTest(`new AddressHandle() sets the traffic class over ${family}`, async () => {
    using pair = udPair();
    const attr = selfAddress(pair.context, family);
    using ah = new AddressHandle(pair.pd, { ...attr, grh: { ...attr.grh!, trafficClass } });
    const grh = await grhThrough(pair, ah);
    assertEquals(family === "ipv4" ? grh.ipv4.tos : grh.trafficClass, trafficClass);
  });
}

deviceTest("new AddressHandle() gives the kernel every field of an address", () => {
  using device = rxe();
  const { context, pd } = device;
  const attr = selfAddress(context);
  const grh = { ...attr.grh!, flowLabel: 0xabcde, hopLimit: 9, trafficClass: 0x48 };
  const given = { ...attr, grh, dlid: 0xffff, sl: 15, srcPathBits: 0x7f, staticRate: 2 };
  using created = spy(verbs(), "ibv_create_ah");
  using ah = new AddressHandle(pd, given);
  const [, view] = created.calls[0]!.args as unknown as [unknown, DataView<ArrayBuffer>];
  assertEquals(ahAttrCodec.read(view, 0), { ...given, isGlobal: true });
  assertEquals(ah.pd, pd);
});

deviceTest("new AddressHandle() says that RoCE needs a GRH when there is none", () => {
  for (const attr of [{ portNum: PORT, dlid: 7 }, { portNum: PORT, isGlobal: false }]) {
    const error = refusal(attr);
    assertEquals(error.code, "EINVAL");
    assertStringIncludes(error.hint!, "Port 1 is Ethernet (RoCE), where every address needs a GRH");
  }
});

deviceTest("new AddressHandle() says so when isGlobal denies the GRH that is given", () => {
  using context = openRxe();
  const error = refusal({ ...selfAddress(context), isGlobal: false });
  assertStringIncludes(error.hint!, "every address needs a GRH");
});

deviceTest("new AddressHandle() names both GIDs when their families differ", () => {
  using context = openRxe();
  const { gid, gidIndex } = gidOf(context, "ipv6");
  const v4 = gidOf(context, "ipv4");
  const error = refusal({ portNum: PORT, grh: { dgid: v4.gid, sgidIndex: gidIndex } });
  assertEquals(error.code, "EINVAL");
  assertEquals(
    error.hint,
    `The GIDs are of different families: ${gid} cannot reach ${v4.gid}`,
  );
  const reverse = refusal({ portNum: PORT, grh: { dgid: gid, sgidIndex: v4.gidIndex } });
  assertStringIncludes(reverse.hint!, `${v4.gid} cannot reach ${gid}`);
});

deviceTest("new AddressHandle() says so when the slot is empty", () => {
  const error = refusal({ portNum: PORT, grh: { dgid: Gid.parse("10.0.0.1"), sgidIndex: 255 } });
  assertEquals(error.code, "ENODATA");
  assertStringIncludes(error.hint!, "Slot 255 of the GID table is empty");
});

deviceTest("new AddressHandle() names the GIDs when there is no route", () => {
  using context = openRxe();
  const { gidIndex } = gidOf(context, "ipv6");
  const error = refusal({
    portNum: PORT,
    grh: { dgid: Gid.parse("2001:db8::9"), sgidIndex: gidIndex },
  });
  assertEquals(error.code, "ENETUNREACH");
  assertEquals(error.hint, `There is no route from GID index ${gidIndex} to 2001:db8::9`);
});

deviceTest("new AddressHandle() refuses what C cannot take before native code", () => {
  using device = rxe();
  const { context, pd } = device;
  const attr = selfAddress(context);
  const grh = attr.grh!;
  const tooLarge: AhAttrInit[] = [
    { ...attr, portNum: 0 },
    { ...attr, portNum: 2 },
    { ...attr, dlid: 0x1_0000 },
    { ...attr, sl: 16 },
    { ...attr, srcPathBits: 256 },
    { ...attr, staticRate: -1 },
    { ...attr, grh: { ...grh, sgidIndex: 256 } },
    { ...attr, grh: { ...grh, flowLabel: 0x10_0000 } },
    { ...attr, grh: { ...grh, hopLimit: 256 } },
    { ...attr, grh: { ...grh, trafficClass: 256 } },
  ];
  for (const bad of tooLarge) assertThrows(() => new AddressHandle(pd, bad), RangeError);
  const mistaken = [
    { ...attr, sl: 1.5 },
    { ...attr, dlid: NaN },
    { ...attr, grh: { ...grh, sgidIndex: undefined } },
    { ...attr, grh: { ...grh, dgid: new Uint8Array(16) } },
    { ...attr, grh: { ...grh, dgid: "10.0.0.1" } },
    { portNum: PORT, isGlobal: true },
  ];
  for (const bad of mistaken) {
    assertThrows(
      () => new AddressHandle(pd, bad as unknown as AhAttrInit),
      TypeError,
      "Cannot use",
    );
  }
});

deviceTest("new AddressHandle() refuses a disposed protection domain", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  pd.close();
  assertThrows(
    () => new AddressHandle(pd, selfAddress(context)),
    TypeError,
    "Cannot use protection domain",
  );
});

deviceTest("AddressHandle.close() destroys it once, however often it is called", () => {
  using device = rxe();
  const { context, pd } = device;
  const ah = new AddressHandle(pd, selfAddress(context));
  ah.close();
  assertEquals(ah.disposed, true);
  ah.close();
  ah[Symbol.dispose]();
  assertThrows(() => ah.unsafeHandle, TypeError, "Cannot use address handle: it is disposed");
});

deviceTest("AddressHandle goes with its protection domain", () => {
  using context = openRxe();
  const pd = new ProtectionDomain(context);
  const handles = Array.from({ length: 10 }, () => new AddressHandle(pd, selfAddress(context)));
  pd.close();
  assertEquals(handles.every(({ disposed }) => disposed), true);
});

deviceTest("AddressHandle can be made and destroyed 5000 times", () => {
  using device = rxe();
  const { context, pd } = device;
  const attr = selfAddress(context);
  for (let i = 0; i < 5000; i++) new AddressHandle(pd, attr).close();
});
