/** How `ibv_devinfo` writes numbers, names and flags. */

import { hex } from "../shell/text.ts";

const TAB = 8;

/** The names of values. */
export type Names = Readonly<Record<number, string>>;

/** A label with a value in a column, aligned by tabs. `level` is the number of tabs before the label. */
export function field(
  level: number,
  label: string,
  value: string | number,
  column: number,
): string {
  const end = level * TAB + label.length + 1;
  const tabs = Math.max(1, Math.ceil((column - end) / TAB));
  return `${"\t".repeat(level)}${label}:${"\t".repeat(tabs)}${value}`;
}

/** A number as C's `%d` prints it: numbers of 32 bits may be negative. */
export function signed(value: number): number {
  return value | 0;
}

/** A hexadecimal number in capitals, such as `0xFF`. */
export function hexCapitals(value: number | bigint): string {
  return `0x${value.toString(16).toUpperCase()}`;
}

export function named(names: Names, value: number, unknown: string): string {
  return `${names[value] ?? unknown} (${value})`;
}

/** A GUID in four groups, such as `0102:0304:0506:0708`. */
export function guidText(guid: bigint): string {
  return hex(guid, 16).slice(2).match(/.{4}/g)!.join(":");
}

/** Flags by their names, in the order of `ibv_devinfo`. */
export type Flags = Readonly<Record<string, number>>;

/** The names of the flags that are set, a line each, and a line for bits without a name. */
export function flagLines(flags: Flags, value: number | bigint, prefix = ""): string[] {
  const lines: string[] = [];
  let rest = BigInt(value);
  for (const [name, flag] of Object.entries(flags)) {
    if ((rest & BigInt(flag)) !== 0n) lines.push(flagLine(prefix + name));
    rest &= ~BigInt(flag);
  }
  if (rest !== 0n) lines.push(flagLine(`Unknown flags: ${hexCapitals(rest)}`));
  return lines;
}

/** A line with the name of a flag, or the text in its place. */
export function flagLine(name: string): string {
  return `${"\t".repeat(5)}${name}`;
}
