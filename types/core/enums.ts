/** The members of a C enum without their common prefix: `IBV_QPT_UD` becomes `UD`. */
export type Members<E, Prefix extends string> = {
  readonly [K in keyof E as K extends `${Prefix}${infer Name}` ? Name : never]: E[K];
};

/** Takes the prefix off an enum's members and leaves out those without it. */
export function members<E extends object, const Prefix extends string>(
  values: E,
  prefix: Prefix,
): Members<E, Prefix> {
  const entries = Object.entries(values).filter(([name]) => name.startsWith(prefix));
  return Object.freeze(
    Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value])),
  ) as Members<E, Prefix>;
}

/** The name of a value in an enum, or the number itself where it has none. */
export function nameOf(values: object, value: number): string {
  for (const [name, candidate] of Object.entries(values)) {
    if (candidate === value) return name;
  }
  return String(value);
}
