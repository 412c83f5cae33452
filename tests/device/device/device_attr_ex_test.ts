// What a device can do, compared with what C reads.
import { assertEquals } from "@std/assert";
import { Context, QpType, RxHashFields, RxHashFunction } from "../../../mod.ts";
import { assertSame, readByC } from "../../c/device_attr_ex.ts";
import { RXE } from "../setup.ts";
import { ALL_FIELDS, STUB, stubTest } from "../stub.ts";

for (const name of [STUB, RXE]) {
  stubTest(`Context.queryDeviceEx() tells of ${name} what C reads`, async () => {
    using context = Context.open(name);
    assertSame(context.queryDeviceEx(), await readByC([name]));
    assertEquals(context.queryDeviceEx().origAttr, context.queryDevice());
  });
}

stubTest("Context.queryDeviceEx() tells what the stub can do for RSS", () => {
  using context = Context.open(STUB);
  const { rssCaps, maxWqTypeRq } = context.queryDeviceEx();
  assertEquals(rssCaps, {
    supportedQpts: 1 << QpType.RAW_PACKET,
    maxRwqIndirectionTables: 16384,
    maxRwqIndirectionTableSize: 128,
    rxHashFieldsMask: BigInt(ALL_FIELDS),
    rxHashFunction: RxHashFunction.TOEPLITZ,
  });
  assertEquals(maxWqTypeRq, 16384);
  const { SRC_IPV4, DST_PORT_UDP } = RxHashFields;
  assertEquals([SRC_IPV4, DST_PORT_UDP], [1, 128]);
});
