/**
 * What the sources compute while a program starts, computed when the package is built. Of the 28 ms of processor time that
 * the package adds to the start of Deno on a busy host with dear page faults, without it, each saves 2 to 3 ms. Numbers in
 * the place of constants saved less than 1 ms, and are not there. (The least quarter of 90 starts each, in turn.)
 */

import { type CEnum, enums, x86_64 } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";

/** Tables that are read by name, so that all of them stay in the package. */
const TABLES = { x86_64, enums };

/** Folds the text of a module. Each line stays on its line, so that source maps stay right. */
export function fold(text: string): string {
  return withTexts(withLiterals(text));
}

/** Puts the enums that members() makes in their place, as literals: 3 ms. */
export function withLiterals(text: string): string {
  return text.replaceAll(
    /= members\(\s*"(\w+)",\s*"(\w+)",?\s*\)/g,
    (call, name: keyof typeof CEnum, prefix: string) =>
      onAsManyLines(`= Object.freeze(${JSON.stringify(members(name, prefix))})`, call),
  );
}

/** Puts texts in the place of the tables of layouts: 2 ms. Each entry is parsed when it is read first. */
export function withTexts(text: string): string {
  return text
    .replace(
      /^(export const (x86_64|enums)\b.* = )(\{\n[^]*?\n\} as const|onUse\([^]*?\n\}\))/gm,
      (whole, start, name: keyof typeof TABLES) => {
        const texts = Object.entries(TABLES[name])
          .map(([key, value]) => [key, JSON.stringify(value)]);
        const made = `onUse(${
          JSON.stringify(Object.fromEntries(texts))
        }, (text) => JSON.parse(text))`;
        return onAsManyLines(start + made, whole);
      },
    )
    // What it has as values is in those texts.
    .replace(/^export (?=namespace CEnum )/m, "export declare ");
}

function onAsManyLines(text: string, replaced: string): string {
  return text + "\n".repeat(replaced.split("\n").length - text.split("\n").length);
}
