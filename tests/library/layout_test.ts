// The table of sizes, offsets and constants against what the compiler says of the installed header, of whatever version.

import { assertEquals, assertStringIncludes } from "@std/assert";
import * as table from "../../ffi/layout.ts";
import { contradictions, findFaults } from "../../tools/layout/check.ts";
import { compare } from "../../tools/layout/compare.ts";
import { type Field, type Layout, tableOf } from "../../tools/layout/model.ts";
import { readHeader } from "../../tools/layout/read.ts";
import { usableArchitectures } from "../../tools/layout/toolchain.ts";

const text = await Deno.readTextFile(new URL("../../ffi/layout.ts", import.meta.url));
const TABLE = tableOf(table);

/** A layout all of whose numbers are wrong, and their places. */
function allWrong({ structs, enums, constants }: Layout): { layout: Layout; paths: string[] } {
  const paths: string[] = [];
  const next = (path: string, value: number | bigint): number | bigint => {
    paths.push(path);
    return typeof value === "bigint" ? value - 1n : value + 1;
  };
  const nextAll = (path: string, values: Layout["constants"]): Layout["constants"] =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, next(`${path}.${name}`, value)]),
    );
  const layout = {
    structs: Object.fromEntries(
      Object.entries(structs).map(([tag, { size, fields }]) => [tag, {
        ...nextAll(`structs.${tag}`, { size }) as { size: number },
        fields: Object.fromEntries(
          Object.entries(fields).map(([name, { offset, size, type }]) => {
            const places = nextAll(`structs.${tag}.fields.${name}`, { offset, size });
            return [name, { ...places, type } as Field];
          }),
        ),
      }]),
    ),
    enums: Object.fromEntries(
      Object.entries(enums).map(([tag, members]) => [tag, nextAll(`enums.${tag}`, members)]),
    ),
    constants: nextAll("constants", constants),
  };
  return { layout, paths };
}

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

Deno.test("contradictions() names each number that is wrong", async () => {
  for (const { arch, common } of HEADERS) {
    const { layout, paths } = allWrong(common);
    const found = await contradictions(arch, layout);
    assertEquals(found.map((line) => line.split(": ")[1]), paths);
  }
});

Deno.test("compare() names each number that is wrong, but for sizes of structs that have grown", () => {
  for (const { header, layout, common } of HEADERS) {
    const wrong = allWrong(layout);
    const named = new Set(compare(wrong.layout, header).faults.map((line) => line.split(" ")[0]));
    const grown = Object.keys(common.structs).filter((tag) =>
      Object.keys(common.structs[tag]!.fields).length <
        Object.keys(layout.structs[tag]!.fields).length
    );
    const excused = new Set(grown.map((tag) => `structs.${tag}.size`));
    // All of its offsets are counted from one of them.
    const isRelative = (path: string): boolean =>
      /^structs\.verbs_context\.fields\.\w+\.offset$/.test(path);
    const unnamed = allWrong(common).paths.filter((path) => !named.has(path));
    assertEquals(unnamed.filter((path) => !excused.has(path) && !isRelative(path)), []);
  }
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

Deno.test("compare() names what the table lacks", () => {
  const { ibv_ah_attr: _, ...structs } = HOST.layout.structs;
  const { faults } = compare({ ...HOST.layout, structs }, HOST.header);
  assertEquals(faults, ["structs.ibv_ah_attr is missing"]);
});

Deno.test("findFaults() shows the line when the text is not as generated", async () => {
  const lines = text.split("\n");
  const missing = lines.findIndex((line) => line.trim().startsWith("dlid_path_bits:"));
  const [line] = lines.splice(missing, 1);
  const { faults } = await findFaults(TABLE, lines.join("\n"));
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0] ?? "", `line ${missing + 1} `);
  assertStringIncludes(faults[0] ?? "", `generating gives "${line}"`);
});

Deno.test("contradictions() names the entry when the header knows no such thing", async () => {
  const structs = {
    ibv_wc: { size: 48, fields: { colour: { offset: 0, size: 4, type: "u32" } } },
  } as const;
  const found = await contradictions(Deno.build.arch, { structs, enums: {}, constants: {} });
  assertStringIncludes(found[0]!, "structs.ibv_wc.fields.colour.offset: ");
  assertStringIncludes(found[0]!, "no member named");
});
