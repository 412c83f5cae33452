/**
 * Reads the whole table from the installed header.
 *
 * @module
 */
import { listClaims } from "./claims.ts";
import { readDebugInfo } from "./dwarf.ts";
import { readMacros, selectNumeric } from "./macros.ts";
import type { Integers, Layout } from "./model.ts";
import { select } from "./select.ts";
import { compile, header, type Toolchain } from "./toolchain.ts";
import { askCompiler } from "./truth.ts";
import { readTypes } from "./type_reader.ts";

/** What the header fixes on one architecture, as far as verbs are made of it. */
export async function readHeader(toolchain: Toolchain): Promise<Layout> {
  const macros = await readMacros(toolchain);
  const types = await compileTypes(toolchain, renamedTags(macros));
  const numeric = await selectNumeric(toolchain, [...macros.keys()]);
  const values = await evaluate(toolchain, numeric);
  return select({ ...types, constants: { ...types.constants, ...values } });
}

async function compileTypes(
  toolchain: Toolchain,
  publicTags: ReadonlyMap<string, string>,
): Promise<Layout> {
  const object = await Deno.makeTempFile({ prefix: "ibverbs-layout-", suffix: ".o" });
  try {
    const flags = ["-g", "-fno-eliminate-unused-debug-types", "-c", "-o", object];
    const errors = await compile(toolchain, `#include <${header}>\n`, flags);
    if (errors !== "") throw new Error(`Cannot compile ${header}:\n${errors}`);
    return readTypes(await readDebugInfo(toolchain, object), publicTags);
  } finally {
    await Deno.remove(object);
  }
}

/** verbs_api.h renames types of the kernel's header by macros: the verbs name by the kernel's. */
function renamedTags(macros: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...macros].map(([name, text]) => [text, name]));
}

async function evaluate(toolchain: Toolchain, names: readonly string[]): Promise<Integers> {
  const constants = Object.fromEntries(names.map((name) => [name, 0]));
  const claims = listClaims({ structs: {}, enums: {}, constants }, new Set());
  const truth = await askCompiler(toolchain, claims);
  return Object.fromEntries(names.map((name) => [name, truth.get(`constants.${name}`) ?? 0]));
}
