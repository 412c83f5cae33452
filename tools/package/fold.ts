/**
 * What the sources compute while a program starts, computed when the package is built. Of 28 ms of processor time that an
 * import took on a host with dear page faults, this saves 7: V8 keeps 0.4 MB less on its heap.
 */

import { type CEnum, constants, enums, x86_64 } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";

/** Tables that are read by name, so that all of them stay in the package. */
const TABLES = { x86_64, enums };

/** Folds the text of a module. Each line stays on its line, so that source maps stay right. */
export function fold(text: string): string {
  return withTexts(withNumbers(withLiterals(text)));
}

/** Puts the enums that members() makes in their place, as literals. */
export function withLiterals(text: string): string {
  return text.replaceAll(
    /= members\(\s*"(\w+)",\s*"(\w+)",?\s*\)/g,
    (call, name: keyof typeof CEnum, prefix: string) =>
      onAsManyLines(`= Object.freeze(${JSON.stringify(members(name, prefix))})`, call),
  );
}

/** Puts constants and members of enums in their place, as numbers. Names of types stay. */
export function withNumbers(text: string): string {
  const enumOf: Readonly<Record<string, Readonly<Record<string, unknown>>>> = enums;
  const constantOf: Readonly<Record<string, unknown>> = constants;
  return text
    .replaceAll(
      /(?<!typeof )\benums\.(\w+)\s*\.(\w+)/g,
      (place, name: string, member: string) => inPlace(enumOf[name]?.[member], place),
    )
    .replaceAll(
      /(?<!typeof )\bconstants\.(\w+)/g,
      (place, name: string) => inPlace(constantOf[name], place),
    );
}

function inPlace(value: unknown, place: string): string {
  return typeof value === "number" ? onAsManyLines(`${value}`, place) : place;
}

/** Puts texts in the place of the tables of layouts. Each entry is parsed when it is read first. */
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
