import { object, show } from "../../internal/checks.ts";

/**
 * The name of a value in an enum of this module, or the number as text if the enum does not have it.
 *
 * @example The name of a state
 * ```ts
 * import { nameOf, QpState } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(nameOf(QpState, QpState.RTS), "RTS");
 * ```
 *
 * @category Constants
 */
export function nameOf(values: object, value: number): string {
  object(values, "values");
  number(value);
  const byName = values as Readonly<Record<string, unknown>>;
  const name = Object.keys(values).find((name) => byName[name] === value);
  return name ?? String(value);
}

/**
 * The names of the flags that are set in a number, joined with `|`. Bits without a name appear as a hexadecimal number.
 *
 * @example The names of access flags
 * ```ts
 * import { AccessFlags, namesOf } from "@rdma/ibverbs";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(namesOf(AccessFlags, 3), "LOCAL_WRITE|REMOTE_WRITE");
 * ```
 *
 * @category Constants
 */
export function namesOf(flags: object, value: number): string {
  object(flags, "flags");
  number(value);
  const names: string[] = [];
  let rest = value >>> 0;
  for (const [name, flag] of Object.entries(flags) as [string, number][]) {
    if (typeof flag !== "number" || flag === 0 || ((rest & flag) >>> 0) !== flag >>> 0) continue;
    names.push(name);
    rest = (rest & ~flag) >>> 0;
  }
  if (rest !== 0 || names.length === 0) names.push(rest === 0 ? "0" : `0x${rest.toString(16)}`);
  return names.join("|");
}

function number(value: number): void {
  if (typeof value !== "number") {
    throw new TypeError(`Cannot use value ${show(value)}: it is not a number`);
  }
}
