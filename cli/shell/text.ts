/** Texts for a terminal: quoted, in columns, hexadecimal. */

import { unicodeWidth } from "@std/cli/unicode-width";

/** Control characters as escapes, so that a text of a peer cannot control the terminal. */
export function escapeControls(
  text: string,
  escape: (character: string) => string = escapeOf,
): string {
  return text.replaceAll(/(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escape);
}

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/** A text of the user or of a peer in a message: as a JSON string. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/** A cell of a table: text, or text that is aligned to the right, such as a number. */
export type Cell = string | { readonly right: string };

/** Rows of cells as lines. Columns are two blanks apart; there are no blanks at the ends of lines. */
export function alignColumns(rows: readonly (readonly Cell[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, unicodeWidth(align(cell, 0))));
  }
  return rows.map((row) => row.map((cell, i) => align(cell, widths[i]!)).join("  ").trimEnd());
}

function align(cell: Cell, width: number): string {
  const text = typeof cell === "string" ? cell : cell.right;
  const room = " ".repeat(Math.max(width - unicodeWidth(text), 0));
  return typeof cell === "string" ? text + room : room + text;
}

/** A hexadecimal number with at least `digits` digits, such as `0x00ff`. */
export function hex(value: number | bigint, digits = 1): string {
  return `0x${value.toString(16).padStart(digits, "0")}`;
}
