// The table of sizes, offsets and constants against what the compiler says of the installed header.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as table from "../../ffi/layout.ts";
import { findFaults, layoutFor, usableToolchains } from "../../tools/layout/check.ts";
import { contradictions, listClaims } from "../../tools/layout/claims.ts";
import { fieldTypes, type Integer, type Layout, tableOf } from "../../tools/layout/model.ts";
import { type Toolchain, toolchainFor } from "../../tools/layout/toolchain.ts";
import { askCompiler, readUnionTags } from "../../tools/layout/truth.ts";

const texts = {
  values: await Deno.readTextFile(new URL("../../ffi/layout.ts", import.meta.url)),
  types: await Deno.readTextFile(new URL("../../ffi/layout_types.ts", import.meta.url)),
};
const TABLE = tableOf(table);
const host = toolchainFor(Deno.build.arch);

/** Takes everything a table says and the truth about it. */
async function examine(
  toolchain: Toolchain,
  layout: Layout,
): Promise<{ unions: Set<string>; truth: Map<string, Integer> }> {
  const unions = await readUnionTags(toolchain);
  return { unions, truth: await askCompiler(toolchain, listClaims(layout, unions)) };
}

/** What a table becomes when one of its entries is changed: only the struct, enum or constant concerned. */
interface Mutation {
  readonly path: string;
  readonly layout: Layout;
}

function* mutationsOf(layout: Layout): Generator<Mutation> {
  const nothing: Layout = { structs: {}, enums: {}, constants: {} };
  for (const [tag, struct] of Object.entries(layout.structs)) {
    const path = `structs.${tag}`;
    const larger = { ...struct, size: struct.size + 1 };
    yield { path: `${path}.size`, layout: { ...nothing, structs: { [tag]: larger } } };
    for (const [name, field] of Object.entries(struct.fields)) {
      const type = fieldTypes[(fieldTypes.indexOf(field.type) + 1) % fieldTypes.length] ?? "u8";
      const changes = { offset: field.offset + 1, size: field.size + 1, type };
      for (const [part, value] of Object.entries(changes)) {
        const fields = { ...struct.fields, [name]: { ...field, [part]: value } };
        const structs = { [tag]: { ...struct, fields } };
        yield { path: `${path}.fields.${name}.${part}`, layout: { ...nothing, structs } };
      }
    }
  }
  for (const [tag, members] of Object.entries(layout.enums)) {
    for (const [name, value] of Object.entries(members)) {
      const enums = { [tag]: { ...members, [name]: next(value) } };
      yield { path: `enums.${tag}.${name}`, layout: { ...nothing, enums } };
    }
  }
  for (const [name, value] of Object.entries(layout.constants)) {
    yield { path: `constants.${name}`, layout: { ...nothing, constants: { [name]: next(value) } } };
  }
}

function next(value: Integer): Integer {
  return typeof value === "bigint" ? value + 1n : value + 1;
}

Deno.test("findFaults() finds nothing when layout.ts is as generated", async () => {
  assertEquals(await findFaults(TABLE, texts), []);
});

Deno.test("structs agrees with the compiler when loaded on the host", async () => {
  const layout = { ...TABLE, structs: table.structs } as unknown as Layout;
  const { unions, truth } = await examine(host, layout);
  assertEquals(contradictions(listClaims(layout, unions), truth), []);
});

Deno.test("contradictions() names the entry when any single one is changed", async () => {
  for (const toolchain of await usableToolchains()) {
    const layout = layoutFor(TABLE, toolchain.arch);
    const { unions, truth } = await examine(toolchain, layout);
    const changed = new Set<string>();
    for (const mutation of mutationsOf(layout)) {
      const found = contradictions(listClaims(mutation.layout, unions), truth);
      assertEquals(found.map((line) => line.split(" ")[0]), [mutation.path]);
      changed.add(mutation.path);
    }
    assertEquals(changed, new Set(listClaims(layout, unions).map(({ path }) => path)));
  }
});

Deno.test("findFaults() says what is and what should be when a number is wrong", async () => {
  const { IBV_QPT_UD } = table.enums.ibv_qp_type;
  const enums = {
    ...table.enums,
    ibv_qp_type: { ...table.enums.ibv_qp_type, IBV_QPT_UD: IBV_QPT_UD + 1 },
  };
  const [first] = await usableToolchains();
  const faults = await findFaults({ ...TABLE, enums }, texts);
  assertEquals(
    faults[0],
    `${first?.arch}: enums.ibv_qp_type.IBV_QPT_UD is ${IBV_QPT_UD + 1}, not ${IBV_QPT_UD}`,
  );
});

Deno.test("findFaults() shows the line when an entry is missing", async () => {
  const lines = texts.values.split("\n");
  const missing = lines.findIndex((line) => line.trim().startsWith("dlid_path_bits:"));
  const [line] = lines.splice(missing, 1);
  const faults = await findFaults(TABLE, { ...texts, values: lines.join("\n") });
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0] ?? "", `line ${missing + 1} `);
  assertStringIncludes(faults[0] ?? "", `generating gives "${line}"`);
});

Deno.test("findFaults() shows the line when a type is missing", async () => {
  const types = texts.types.replace('    readonly dlid_path_bits: Field<"u8">;\n', "");
  const [fault, ...others] = await findFaults(TABLE, { ...texts, types });
  assertEquals(others, []);
  assertStringIncludes(fault ?? "", "types: line ");
  assertStringIncludes(fault ?? "", "dlid_path_bits");
});

Deno.test("askCompiler() names the entry when the header knows no such thing", async () => {
  const structs = {
    ibv_wc: { size: 0, fields: { colour: { offset: 0, size: 4, type: "u32" } } },
  } as const;
  const claims = listClaims({ structs, enums: {}, constants: {} }, new Set());
  const error = await assertRejects(() => askCompiler(host, claims), Error);
  assertStringIncludes(error.message, "structs.ibv_wc.fields.colour.offset:1");
});

Deno.test("askCompiler() names the packages to install when there is no compiler", async () => {
  const absent = { ...host, prefix: "no-such-" };
  const error = await assertRejects(() => askCompiler(absent, []), Error);
  assertStringIncludes(error.message, `apt-get install ${host.packages}`);
});
