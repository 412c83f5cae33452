/**
 * Stands in for @std/cli/unicode-width where JSR cannot be reached. It knows the wide letters of East Asia, emoji, and marks
 * without a width; the real one has the tables of Unicode.
 */

const NONE = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]$/u;
const WIDE = new RegExp(
  "^[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{Emoji_Presentation}" +
    "\\u{3000}-\\u{303e}\\u{ff01}-\\u{ff60}\\u{ffe0}-\\u{ffe6}]$",
  "u",
);

/** The number of columns that a text takes on a terminal. */
export function unicodeWidth(str: string): number {
  return [...str].reduce((sum, char) => sum + (NONE.test(char) ? 0 : WIDE.test(char) ? 2 : 1), 0);
}
