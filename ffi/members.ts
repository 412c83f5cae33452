import { type CEnum, enums } from "./layout.ts";

/**
 * The members of a C enum without their common prefix: `IBV_QPT_UD` becomes `UD`.
 *
 * @category Constants
 */
export type Members<Name extends keyof typeof CEnum, Prefix extends string> = {
  readonly [K in keyof (typeof CEnum)[Name] as K extends `${Prefix}${infer Rest}` ? Rest : never]:
    (typeof CEnum)[Name][K];
};

/** Removes the prefix from an enum's members and leaves out the members without it. */
export function members<const Name extends keyof typeof CEnum, const Prefix extends string>(
  name: Name,
  prefix: Prefix,
): Members<Name, Prefix> {
  const found = Object.entries(enums[name])
    .filter(([member]) => member.startsWith(prefix))
    .map(([member, value]) => [member.slice(prefix.length), value]);
  return Object.freeze(Object.fromEntries(found));
}
