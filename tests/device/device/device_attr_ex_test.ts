// What a device can do, compared with what C reads.
import { assertEquals } from "@std/assert";
import { EOPNOTSUPP } from "../../../ffi/errno.ts";
import { structs } from "../../../ffi/layout.ts";
import { type Verbs, verbs } from "../../../ffi/library.ts";
import { camelCase } from "../../../ffi/struct.ts";
import { Context, type DeviceAttrEx, QpType, RxHashFields, RxHashFunction } from "../../../mod.ts";
import { compileC } from "../../c/compile.ts";
import { RXE } from "../setup.ts";
import { ALL_FIELDS, assertFails, failNext, STUB, stubTest } from "../stub.ts";

const ENOSYS = 38;

/** Lines NAME VALUE that a C program prints, by name. */
async function readByC(args: string[], bytes = new Uint8Array()): Promise<Map<string, bigint>> {
  const program = await compileC("device_attr_ex.c", ["-libverbs"]);
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "piped" }).spawn();
  const input = new Blob([bytes]).stream().pipeTo(child.stdin);
  const { code, stdout } = await child.output();
  await input;
  assertEquals(code, 0);
  const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.split(" "));
  return new Map(lines.map(([name, value]) => [camelCase(name!), BigInt(value!)]));
}

function valueAt(attr: DeviceAttrEx, path: string): bigint {
  const value = path.split(".").reduce<unknown>(
    (object, name) => (object as Record<string, unknown>)[name],
    attr,
  );
  return BigInt.asUintN(64, BigInt(value as number | bigint));
}

/** Paths of all numbers of an object. */
function paths(object: object, prefix = ""): string[] {
  return Object.entries(object).flatMap(([name, value]) =>
    typeof value === "object" ? paths(value, `${prefix}${name}.`) : `${prefix}${name}`
  );
}

function assertSame(attr: DeviceAttrEx, expected: Map<string, bigint>): void {
  const found = [...expected.keys()].map((path): [string, bigint] => [path, valueAt(attr, path)]);
  assertEquals(found, [...expected]);
  const extended = paths(attr).filter((path) => !path.startsWith("origAttr."));
  assertEquals(extended.filter((path) => !expected.has(path)), []);
}

for (const name of [STUB, RXE]) {
  stubTest(`Context.queryDeviceEx() tells of ${name} what C reads`, async () => {
    using context = Context.open(name);
    assertSame(context.queryDeviceEx(), await readByC([name]));
    assertEquals(context.queryDeviceEx().origAttr, context.queryDevice());
  });
}

/** Has another function answer in the verb's place. */
function answering(answer: Verbs["ibv_query_device_ex"]): Disposable {
  const table = verbs() as { -readonly [K in keyof Verbs]: Verbs[K] };
  const original = table.ibv_query_device_ex;
  table.ibv_query_device_ex = answer;
  return {
    [Symbol.dispose](): void {
      table.ibv_query_device_ex = original;
    },
  };
}

stubTest("Context.queryDeviceEx() reads every field where C does", async () => {
  using context = Context.open(STUB);
  const bytes = crypto.getRandomValues(new Uint8Array(structs.ibv_device_attr_ex.size));
  using _ = answering((_context, _input, attr) => {
    new Uint8Array((attr as DataView<ArrayBuffer>).buffer).set(bytes);
    return 0;
  });
  assertSame(context.queryDeviceEx(), await readByC([], bytes));
});

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

for (const errno of ["EOPNOTSUPP", "ENOSYS"]) {
  stubTest(
    `Context.queryDeviceEx() gives the basic attributes when the provider answers ${errno}`,
    () => {
      using context = Context.open(STUB);
      // the stub cannot answer so: libmlx4 then gives what its stack held
      using _ = answering((_context, _input, attr) => {
        new Uint8Array((attr as DataView<ArrayBuffer>).buffer).fill(0xff);
        return errno === "ENOSYS" ? ENOSYS : EOPNOTSUPP;
      });
      const { origAttr, ...rest } = context.queryDeviceEx();
      assertEquals(origAttr, context.queryDevice());
      assertEquals(paths(rest).filter((path) => valueAt(rest as DeviceAttrEx, path) !== 0n), []);
    },
  );
}

stubTest("Context.queryDeviceEx() fails when the device answers anything else", () => {
  using context = Context.open(STUB);
  failNext("query_device", "EIO");
  assertFails(() => context.queryDeviceEx(), "ibv_query_device_ex", "EIO");
});
