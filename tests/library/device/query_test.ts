// Attributes of devices and ports, in every bit.
import * as recorder from "../../provider/recorder.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Field, structs } from "../../../ffi/layout.ts";
import { camelCase, readField } from "../../../ffi/struct.ts";
import { AtomicCap, LinkLayer, Mtu, PortCapFlags, PortState } from "../../../mod.ts";
import { onContext as on } from "../recorded.ts";

/** The numbers of attributes as 64 bits, by C's names in camelCase; those of nested structs have a dot in them. */
function numbersOf(attr: object, prefix = ""): [string, bigint][] {
  return Object.entries(attr).flatMap(([name, value]) =>
    typeof value === "object"
      ? numbersOf(value, `${prefix}${name}.`)
      : [[prefix + name, BigInt.asUintN(64, BigInt(value))]]
  );
}

on.test("Context.queryDeviceEx() reads every field where C has it", (context) => {
  const { size, fields } = structs.ibv_device_attr_ex;
  const bytes = crypto.getRandomValues(new Uint8Array(size));
  recorder.answerBytes("ibv_query_device_ex", bytes);
  const { origAttr: _, ...attr } = context.queryDeviceEx();
  const numbers = Object.entries<Field>(fields)
    .filter(([name, { type }]) => type !== "bytes" && !name.startsWith("orig_attr"))
    .map(([name, field]): [string, bigint] => {
      const value = BigInt(readField(new DataView(bytes.buffer), field));
      return [camelCase(name), BigInt.asUintN(64, value)];
    });
  assertEquals(Object.fromEntries(numbersOf(attr)), Object.fromEntries(numbers));
  assertEquals(numbers.length > 30, true);
});

on.test("Context.queryDevice() reads every field that queryDeviceEx() reads", (context) => {
  const bytes = crypto.getRandomValues(new Uint8Array(structs.ibv_device_attr.size));
  const version = new TextEncoder().encode("20.1.2\0garbage");
  bytes.set(version, structs.ibv_device_attr.fields.fw_ver.offset);
  recorder.answerBytes("ibv_query_device", bytes);
  recorder.answerBytes("ibv_query_device_ex", bytes);
  const attr = context.queryDevice();
  assertEquals(attr.fwVer, "20.1.2");
  assertEquals(context.queryDeviceEx().origAttr, attr);
  const view = new DataView(bytes.buffer);
  const { fields } = structs.ibv_device_attr;
  // GUIDs are in network order; the other fields are in host order.
  assertEquals(attr.nodeGuid, view.getBigUint64(fields.node_guid.offset));
  assertEquals(attr.maxMrSize, view.getBigUint64(fields.max_mr_size.offset, true));
  assertEquals(attr.maxQp, view.getInt32(fields.max_qp.offset, true));
});

for (const code of ["EOPNOTSUPP", "ENOSYS"] as const) {
  on.test(`Context.queryDeviceEx() gives the basic attributes when the provider answers ${code}`, (context) => {
    recorder.fail("ibv_query_device_ex", code);
    const { origAttr, ...rest } = context.queryDeviceEx();
    assertEquals(origAttr, context.queryDevice());
    assertEquals(origAttr.atomicCap, AtomicCap.HCA);
    assertEquals(numbersOf(rest).filter(([, value]) => value !== 0n), []);
  });
}

on.test("Context.queryPort() reads every field of the whole struct", (context) => {
  const { size, fields } = structs.ibv_port_attr;
  // Each byte differs from all others, so that each field has a value of its own.
  const bytes = Uint8Array.from({ length: size }, (_, i) => i + 1);
  recorder.answerBytes("ibv_query_port", bytes);
  recorder.take();
  const attr = context.queryPort(1);
  assertEquals(recorder.takeOne("___ibv_query_port").args.attr_size, size);
  const view = new DataView(bytes.buffer);
  const expected = Object.entries(fields).map(([name, { offset, size }]) => {
    const read = { 1: "getUint8", 2: "getUint16", 4: "getUint32" } as const;
    const camel = name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    return [camel, view[read[size as 1 | 2 | 4]](offset, true)];
  });
  assertEquals({ ...attr } as unknown, Object.fromEntries(expected));
});

on.test(
  "console.log() shows names of enums and flags, and GUIDs as tools do",
  (context) => {
    recorder.answer("ibv_query_port", {
      state: PortState.ACTIVE,
      active_mtu: Mtu[4096],
      link_layer: LinkLayer.ETHERNET,
      port_cap_flags: PortCapFlags.IP_BASED_GIDS,
    });
    const port = context.queryPort(1);
    const text = Deno.inspect(port);
    for (
      const line of [
        'state: "ACTIVE"',
        'activeMtu: "4096"',
        'portCapFlags: "IP_BASED_GIDS"',
        'linkLayer: "ETHERNET"',
      ]
    ) {
      assertStringIncludes(text, line);
    }
    assertEquals(JSON.parse(JSON.stringify(port)).state, PortState.ACTIVE);
    assertMatch(Deno.inspect(context.queryDevice()), /nodeGuid: "[0-9a-f]{4}(:[0-9a-f]{4}){3}"/);
    const device = Deno.inspect(context.device);
    assertMatch(device, /guid: "[0-9a-f]{4}(:[0-9a-f]{4}){3}",\s+index: -?\d+,\s+nodeType: "CA"/);
  },
);
