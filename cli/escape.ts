/**
 * Text from outside, made harmless for a terminal.
 *
 * @module
 */

/** Characters that control a terminal or the order of text. Tabs are not among them. */
const CONTROLS = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Replaces each control character by an escape such as `\u{1b}`. */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** A value as indented JSON. A bigint is a decimal string. JSON itself escapes only the first 32 control characters. */
export function jsonText(value: unknown, indent = 2): string {
  const text = JSON.stringify(value, withoutBigint, indent);
  // The line feeds are those of the indentation.
  return text.replaceAll(
    CONTROLS,
    (character) => character === "\n" ? character : utf16(character),
  );
}

function withoutBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function utf16(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
