// The table of sizes, offsets and constants against what the compiler says of the installed header.

import { assertEquals, assertStringIncludes } from "@std/assert";
import * as table from "../../ffi/layout.ts";
import { contradictions, findFaults } from "../../tools/layout/check.ts";
import { type Field, type Layout, tableOf } from "../../tools/layout/model.ts";
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

Deno.test("findFaults() finds nothing when layout.ts is as generated", async () => {
  assertEquals(await findFaults(TABLE, text), []);
});

Deno.test("structs agrees with the compiler when loaded on the host", async () => {
  const { structs } = table;
  assertEquals(await contradictions(Deno.build.arch, { ...TABLE, structs: { ...structs } }), []);
});

Deno.test("contradictions() names each number that is wrong", async () => {
  for (const arch of await usableArchitectures()) {
    const { layout, paths } = allWrong({ ...TABLE, structs: TABLE[arch] });
    const found = await contradictions(arch, layout);
    assertEquals(found.map((line) => line.split(": ")[1]), paths);
  }
});

Deno.test("findFaults() says what is and what should be when a number is wrong", async () => {
  const { IBV_QPT_UD } = table.enums.ibv_qp_type;
  const enums = {
    ...table.enums,
    ibv_qp_type: { ...table.enums.ibv_qp_type, IBV_QPT_UD: IBV_QPT_UD + 1 },
  };
  const faults = await findFaults({ ...TABLE, enums }, text);
  assertStringIncludes(faults[0]!, `${Deno.build.arch}: enums.ibv_qp_type.IBV_QPT_UD: `);
  assertStringIncludes(faults[0]!, `"it is not ${IBV_QPT_UD + 1}"`);
});

Deno.test("findFaults() shows the line when an entry is missing", async () => {
  const lines = text.split("\n");
  const missing = lines.findIndex((line) => line.trim().startsWith("dlid_path_bits:"));
  const [line] = lines.splice(missing, 1);
  const faults = await findFaults(TABLE, lines.join("\n"));
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
