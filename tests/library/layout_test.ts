// The table of sizes, offsets and constants against what the compiler says of the installed header, of whatever version.

import { assertEquals, assertStringIncludes } from "@std/assert";
import * as table from "../../ffi/layout.ts";
import { findFaults } from "../../tools/layout/check.ts";
import { compare } from "../../tools/layout/compare.ts";
import { tableOf } from "../../tools/layout/model.ts";
import { readHeader } from "../../tools/layout/read.ts";
import { usableArchitectures } from "../../tools/layout/toolchain.ts";

const text = await Deno.readTextFile(new URL("../../ffi/layout.ts", import.meta.url));
const TABLE = tableOf(table);

/** The installed header, and what the table has of it. */
const HEADERS = await Promise.all(
  (await usableArchitectures()).map(async (arch) => {
    const { enums, constants } = TABLE;
    const header = await readHeader(arch);
    const layout = { structs: TABLE[arch], enums, constants };
    return { arch, header, layout, ...compare(layout, header) };
  }),
);
const [HOST] = HEADERS as [typeof HEADERS[number]];

Deno.test("findFaults() finds nothing with any header, and lists what an older one lacks", async () => {
  const { faults, newer } = await findFaults(TABLE, text);
  assertEquals([faults, newer], [[], HOST.newer]);
  assertEquals(newer.includes("structs.ibv_comp_cntr"), !("ibv_comp_cntr" in HOST.header.structs));
});

Deno.test("structs agrees with the compiler when loaded on the host", () => {
  assertEquals(compare({ ...HOST.layout, structs: { ...table.structs } }, HOST.header).faults, []);
});

Deno.test("findFaults() names an offset that is changed by one", async () => {
  for (const { arch } of HEADERS) {
    const { ibv_ah_attr, ...others } = TABLE[arch];
    const { fields, size } = ibv_ah_attr!;
    const sl = { ...fields.sl!, offset: fields.sl!.offset + 1 };
    const structs = { ...others, ibv_ah_attr: { size, fields: { ...fields, sl } } };
    const { faults } = await findFaults({ ...TABLE, [arch]: structs }, text);
    const path = "structs.ibv_ah_attr.fields.sl.offset";
    assertStringIncludes(faults.join("\n"), `${arch}: ${path} is ${sl.offset}, and the header has`);
    assertStringIncludes(faults.join("\n"), `${arch}: ${path}: static assertion failed`);
  }
});
