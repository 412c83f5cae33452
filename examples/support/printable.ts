/** Text from others, made harmless for a terminal. */

/** Replaces each character that controls a terminal or the order of text by an escape such as `\u{1b}`. */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** Text as a JSON string without such characters. JSON itself escapes the first 32 only. */
export function printable(text: string): string {
  return escapeControls(JSON.stringify(text));
}
