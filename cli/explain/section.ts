/** Parts of an explanation. */

import type { Line } from "../shell/terminal.ts";
import { alignColumns, hex } from "../shell/text.ts";

/** A fact, such as a field of a header. */
export interface Row {
  /** Its name: that of the module, or that of the specification. */
  readonly name: string;
  readonly value: unknown;
  /** It is null if only JSON has the fact. */
  readonly text: string | null;
}

export interface Section {
  readonly key: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

/** A fact. Without a text its value is the text. */
export function row(name: string, value: unknown, text: string | null = String(value)): Row {
  return { name, value, text };
}

/** A fact that is a hexadecimal number with a number of digits. */
export function hexRow(name: string, value: number, digits: number): Row {
  return row(name, value, hex(value, digits));
}

export function sectionLines(sections: readonly Section[]): Line[] {
  return sections.flatMap(({ title, rows }, i): Line[] => [
    ...i === 0 ? [] : [""],
    [{ text: title, style: "bold" }],
    ...alignColumns(rows.flatMap(({ name, text }) => text === null ? [] : [[`  ${name}`, text]])),
  ]);
}

/** Sections as a value for JSON. */
export function sectionValues(sections: readonly Section[]): Record<string, unknown> {
  return Object.fromEntries(sections.map(({ key, rows }) => [
    key,
    Object.fromEntries(rows.map(({ name, value }) => [name, value])),
  ]));
}
