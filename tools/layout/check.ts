/**
 * Checks ffi/layout.ts against the installed header.
 *
 * @module
 */
import { contradictions, listClaims } from "./claims.ts";
import { emit } from "./emit.ts";
import type { Layout, Table, Texts } from "./model.ts";
import { readHeader } from "./read.ts";
import { architectures, isInstalled, type Toolchain, toolchainFor } from "./toolchain.ts";
import { askCompiler, readUnionTags } from "./truth.ts";

/**
 * Everything wrong with a table and its texts, one line each: numbers that the compiler contradicts,
 * then what the generator would write differently, such as an entry that is missing.
 * The architectures are that of the host and any other whose compiler is installed.
 */
export async function findFaults(table: Table, texts: Texts): Promise<string[]> {
  const faults: string[] = [];
  // What no compiler here can tell stays as the table has it.
  let fresh: Table = table;
  for (const toolchain of await usableToolchains()) {
    const { arch } = toolchain;
    const wrong = await findContradictions(toolchain, layoutFor(table, arch));
    faults.push(...wrong.map((fault) => `${arch}: ${fault}`));
    const { structs, enums, constants } = await readHeader(toolchain);
    fresh = { ...fresh, [arch]: structs, enums, constants };
  }
  const generated = emit(fresh, sourceOf(texts.values));
  return [
    ...faults,
    ...compareLines("", texts.values, generated.values),
    ...compareLines("types: ", texts.types, generated.types),
  ];
}

/** The compilers to check with: the host's has to be there, others may be missing. */
export async function usableToolchains(): Promise<Toolchain[]> {
  const usable: Toolchain[] = [];
  for (const arch of architectures) {
    const toolchain = toolchainFor(arch);
    if (arch === Deno.build.arch || await isInstalled(toolchain)) usable.push(toolchain);
  }
  return usable;
}

/** The table as one architecture sees it. */
export function layoutFor(table: Table, arch: Toolchain["arch"]): Layout {
  const { enums, constants } = table;
  return { structs: arch === "aarch64" ? table.aarch64 : table.x86_64, enums, constants };
}

/** The header's package and version, from the first line of a table's text. */
export function sourceOf(text: string): string {
  return /^\/\/ .* of (.+): do not edit/.exec(text)?.[1] ?? "an unknown package";
}

async function findContradictions(toolchain: Toolchain, layout: Layout): Promise<string[]> {
  const claims = listClaims(layout, await readUnionTags(toolchain));
  return contradictions(claims, await askCompiler(toolchain, claims));
}

function compareLines(file: string, text: string, generated: string): string[] {
  if (text === generated) return [];
  const lines = text.split("\n");
  const expected = generated.split("\n");
  const first = expected.findIndex((line, index) => line !== lines[index]);
  const at = first < 0 ? expected.length : first;
  return [
    `${file}line ${at + 1} is "${lines[at] ?? ""}", and generating gives "${expected[at] ?? ""}"`,
  ];
}
