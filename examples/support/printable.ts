/**
 * Text from a peer as a JSON string that is safe on a terminal. Characters that control a terminal or the order of text
 * appear as escapes; JSON itself escapes the first 32 only.
 */
export function printable(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
