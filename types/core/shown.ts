import { textOf } from "../../internal/texts.ts";
import { nameOf, namesOf } from "./enums.ts";

/** Turns the value of an attribute into what `console.log` shows. */
type Show = (value: never) => string;

/** The name of a member of an enum. */
export function nameIn(values: object): Show {
  return (value: number) => nameOf(values, value);
}

/** The names of flags. */
export function namesIn(flags: object): Show {
  return (value: number) => namesOf(flags, value);
}

/** A GUID as RDMA tools print it, such as `0102:0304:0506:0708`. */
export function guidText(guid: bigint): string {
  return guid.toString(16).padStart(16, "0").match(/.{4}/g)!.join(":");
}

/** Lets `console.log` and `String()` show some attributes as text. Values, JSON and comparisons do not change. */
export function shown<T extends object>(
  attributes: T,
  shows: Readonly<{ [K in keyof T]?: Show | undefined }>,
): T {
  const withTexts = (): object => {
    const texts = Object.entries<Show>(shows as never)
      .map(([name, show]) => [name, show(attributes[name as keyof T] as never)]);
    return { ...attributes, ...Object.fromEntries(texts) };
  };
  const inspect = (
    inspect: (value: unknown, options?: Deno.InspectOptions) => string,
    options?: Deno.InspectOptions,
  ): string => {
    return inspect(withTexts(), options);
  };
  const toString = (): string => textOf("", withTexts());
  return Object.defineProperties(attributes, {
    [Symbol.for("Deno.customInspect")]: { value: inspect },
    toString: { value: toString },
  });
}
