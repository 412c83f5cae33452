/** Writes the table as TypeScript. */

import type { Integer, Layout, Struct, Table } from "./model.ts";

/** The text of ffi/layout.ts with these tables in the place of its own, from the headers of the named package. */
export function emit(
  text: string,
  { x86_64, aarch64, enums, constants }: Table,
  source: string,
): string {
  const tables = {
    x86_64: Object.entries(x86_64).map(structText),
    aarch64Differences: differences(x86_64, aarch64).map(structText),
    CEnum: Object.entries(enums).map(enumText),
    constants: [filled("  ", membersText(constants))],
  };
  return Object.entries(tables).reduce(
    (text, [name, lines]) => text.replace(bodyOf(name), (_, start) => start + lines.join("")),
    text.replace(SOURCE, source),
  );
}

/** The package that the tables are from, in the first line of their file. */
export const SOURCE = /(?<=^.* of ).+(?=: edit no table)/;

/** The lines between the braces of a table, behind the line that begins it. */
function bodyOf(name: string): RegExp {
  return new RegExp(
    `^((?:export )?(?:const|namespace) ${name}\\b.*\\{\n)[^]*?(?=^\\})`,
    "m",
  );
}

/** Structs that are not the same, with those fields that are not the same. */
function differences(x86_64: Layout["structs"], aarch64: Layout["structs"]): [string, Struct][] {
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  return Object.entries(aarch64)
    .filter(([tag, struct]) => !isSame(struct, x86_64[tag]))
    .map(([tag, { size, fields }]) => {
      const entries = Object.entries(fields);
      const moved = entries.filter(([name, field]) => !isSame(field, x86_64[tag]?.fields[name]));
      return [tag, { size, fields: Object.fromEntries(moved) }];
    });
}

function structText([tag, { size, fields }]: [string, Struct]): string {
  const entries = Object.entries(fields).map(([name, { offset, size, type }]) => {
    const key = name.includes(".") ? `"${name}"` : name;
    return `${key}: ["${type}", ${offset}${type === "bytes" ? `, ${size}` : ""}]`;
  });
  return block(`  ${tag}: [${size}, {`, entries, "}],");
}

function membersText(members: Layout["constants"]): string[] {
  return Object.entries(members).map(([name, value]) => `${name}: ${literal(value)}`);
}

function enumText([tag, members]: [string, Layout["constants"]]): string {
  const entries = Object.entries(members).map(([name, value]) => `${name} = ${value}`);
  return `  /** \`enum ${tag}\`. */\n${block(`  export enum ${tag} {`, entries, "}")}`;
}

/** Entries on one line where they fit, or else on as few lines as hold them. */
function block(start: string, entries: readonly string[], end: string): string {
  const line = `${start} ${entries.join(", ")} ${end}`;
  if (line.length <= 100) return `${line}\n`;
  return `${start}\n${filled("    ", entries)}  ${end}\n`;
}

/** As many entries on each line as fit. */
function filled(indent: string, entries: readonly string[]): string {
  let [text, line] = ["", ""];
  for (const entry of entries) {
    if (line !== "" && indent.length + line.length + entry.length + 2 > 100) {
      text += `${indent}${line}\n`;
      line = "";
    }
    line += `${line === "" ? "" : " "}${entry},`;
  }
  return `${text}${indent}${line}\n`;
}

function literal(value: Integer): string {
  return `${value}${typeof value === "bigint" ? "n" : ""}`;
}
