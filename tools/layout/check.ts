/** Checks ffi/layout.ts against the installed header. */

import { compare } from "./compare.ts";
import { emit, SOURCE } from "./emit.ts";
import type { Integer, Layout, Table } from "./model.ts";
import { numberOf, readHeader } from "./read.ts";
import { type Architecture, gcc, HEADER, usableArchitectures } from "./toolchain.ts";

/** What a comparison finds, one line each. */
export interface Findings {
  /** What is wrong with the table. */
  readonly faults: string[];
  /** What the table has and the header lacks, because it is older. */
  readonly newer: string[];
}

/**
 * Compares a table and its text with the header, which may be older. What the header has and the table has not, or has
 * otherwise, is a fault. So are numbers that the compiler contradicts, which knows nothing of how the header was read.
 */
export async function findFaults(table: Table, text: string): Promise<Findings> {
  const faults = compareLines(text, emit(text, table, sourceOf(text)));
  const newer = new Set<string>();
  for (const arch of await usableArchitectures()) {
    const { enums, constants } = table;
    const header = await readHeader(arch);
    const compared = compare({ structs: table[arch], enums, constants }, header);
    faults.push(...compared.faults.map((fault) => `${arch}: ${fault}`));
    faults.push(...await contradictions(arch, compared.common));
    for (const entry of compared.newer) newer.add(entry);
  }
  return { faults, newer: [...newer] };
}

/** The header's package and version, from the first line of a table's text. */
function sourceOf(text: string): string {
  return SOURCE.exec(text)?.[0] ?? "an unknown package";
}

/** The numbers of a table that are wrong: a compiler finds them, which knows nothing of how they were read. */
export async function contradictions(arch: Architecture, layout: Layout): Promise<string[]> {
  const { stderr } = await gcc(arch, HEADER + assertions(layout).join(""), "-fsyntax-only");
  return Array.from(
    stderr.matchAll(/^([^:\n]+):\d+(?::\d+)?:(?: fatal)? error: (.*)$/gm),
    ([, path, message]) => `${arch}: ${path}: ${message}`,
  );
}

function assertions({ structs, enums, constants }: Layout): string[] {
  return [
    ...Object.entries(structs).flatMap(([tag, { size, fields }]) => [
      is(`structs.${tag}.size`, `sizeof(${typeOf(tag)})`, size),
      ...Object.entries(fields).flatMap(([name, { offset, size }]) => [
        is(
          `structs.${tag}.fields.${name}.offset`,
          `__builtin_offsetof(${typeOf(tag)}, ${name})`,
          offset,
        ),
        is(
          `structs.${tag}.fields.${name}.size`,
          `sizeof(((${typeOf(tag)} *) 0)->${name})`,
          size,
        ),
      ]),
    ]),
    ...Object.entries(enums).flatMap(([tag, members]) =>
      Object.entries(members).map(([name, value]) =>
        is(`enums.${tag}.${name}`, `(enum ${tag}) ${name}`, value)
      )
    ),
    ...Object.entries(constants).map(([name, value]) =>
      is(`constants.${name}`, numberOf(name), value)
    ),
  ];
}

function typeOf(tag: string): string {
  return tag === "ibv_gid" ? `union ${tag}` : `struct ${tag}`;
}

/** The line marker makes the compiler name the entry in place of a file. */
function is(path: string, expression: string, value: Integer): string {
  const number = value < 0 ? value : `${value}u`;
  const text = `it is not ${value}`;
  return `#line 1 "${path}"\n_Static_assert((${expression}) == ${number}, "${text}");\n`;
}

function compareLines(text: string, generated: string): string[] {
  if (text === generated) return [];
  const lines = text.split("\n");
  const expected = generated.split("\n");
  const first = expected.findIndex((line, index) => line !== lines[index]);
  const at = first < 0 ? expected.length : first;
  return [
    `line ${at + 1} is "${lines[at] ?? ""}", and generating gives "${expected[at] ?? ""}"`,
  ];
}
