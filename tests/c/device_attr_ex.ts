// Compares attributes of devices with what a C program reads.

import { assertEquals } from "@std/assert";
import { camelCase } from "../../ffi/struct.ts";
import type { DeviceAttrEx } from "../../mod.ts";
import { compileC } from "./compile.ts";

/** Older headers lack the last field. */
const HAS_PHYS_PORT_CNT_EX = Deno.readTextFileSync("/usr/include/infiniband/verbs.h")
  .includes("phys_port_cnt_ex");

/** Lines NAME VALUE that a C program prints, by name. */
export async function readByC(bytes: Uint8Array<ArrayBuffer>): Promise<Map<string, bigint>> {
  const newer = HAS_PHYS_PORT_CNT_EX ? ["-DHAS_PHYS_PORT_CNT_EX"] : [];
  const program = await compileC("device_attr_ex.c", newer);
  const child = new Deno.Command(program, { stdin: "piped", stdout: "piped" }).spawn();
  const input = new Blob([bytes]).stream().pipeTo(child.stdin);
  const { code, stdout } = await child.output();
  await input;
  assertEquals(code, 0);
  const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => line.split(" "));
  return new Map(lines.map(([name, value]) => [camelCase(name!), BigInt(value!)]));
}

/** The number at a dotted path, as 64 bits. */
export function valueAt(attr: DeviceAttrEx, path: string): bigint {
  const value = path.split(".").reduce<unknown>(
    (object, name) => (object as Record<string, unknown>)[name],
    attr,
  );
  return BigInt.asUintN(64, BigInt(value as number | bigint));
}

/** Paths of all numbers of an object. */
export function paths(object: object, prefix = ""): string[] {
  return Object.entries(object).flatMap(([name, value]) =>
    typeof value === "object" ? paths(value, `${prefix}${name}.`) : `${prefix}${name}`
  );
}

/** Asserts that attributes have all values that C reads, and no others beside the basic attributes. */
export function assertSame(attr: DeviceAttrEx, expected: Map<string, bigint>): void {
  const found = [...expected.keys()].map((path): [string, bigint] => [path, valueAt(attr, path)]);
  assertEquals(found, [...expected]);
  const extended = paths(attr).filter((path) =>
    !path.startsWith("origAttr.") && (HAS_PHYS_PORT_CNT_EX || path !== "physPortCntEx")
  );
  assertEquals(extended.filter((path) => !expected.has(path)), []);
}
