/** Parts of an explanation. */

import { alignColumns } from "../shell/table.ts";
import type { Line } from "../shell/terminal.ts";

/** A fact, such as a field of a header. */
export interface Row {
  /** Its name: that of the module, or that of the specification. */
  readonly name: string;
  readonly value: unknown;
  readonly text: string;
}

export interface Section {
  readonly key: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

/** A fact. Without a text its value is the text. */
export function row(name: string, value: unknown, text: string = String(value)): Row {
  return { name, value, text };
}

/** A fact that is a hexadecimal number with a number of digits. */
export function hexRow(name: string, value: number, digits: number): Row {
  return row(name, value, hexText(value, digits));
}

/** A hexadecimal number with a number of digits. */
export function hexText(value: number, digits: number): string {
  return `0x${value.toString(16).padStart(digits, "0")}`;
}

export function sectionLines(sections: readonly Section[]): Line[] {
  return sections.flatMap(({ title, rows }, i): Line[] => [
    ...i === 0 ? [] : [""],
    [{ text: title, style: "bold" }],
    ...alignColumns(rows.map(({ name, text }) => [`  ${name}`, text])),
  ]);
}

/** Sections as a value for JSON. */
export function sectionValues(sections: readonly Section[]): Record<string, unknown> {
  return Object.fromEntries(sections.map(({ key, rows }) => [
    key,
    Object.fromEntries(rows.map(({ name, value }) => [name, value])),
  ]));
}
