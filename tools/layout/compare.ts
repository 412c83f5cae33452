/** Compares the table with a header that may be older. */

import type { Field, Integers, Layout, Struct } from "./model.ts";

/** What a comparison finds, by the places of entries. */
interface Compared {
  readonly faults: string[];
  readonly newer: string[];
  /** The entries of the table that the header has as well, with the numbers that an older header has. */
  readonly common: Layout;
}

type Entries<T> = Readonly<Record<string, T>>;

/** Structs that grow at their front. What is in them is found from this field. */
const GROWS_AT_FRONT: Readonly<Record<string, string>> = { verbs_context: "context" };

/** Compares a table with what the header fixes. */
export function compare(table: Layout, header: Layout): Compared {
  const [faults, newer]: [string[], string[]] = [[], []];
  /** The entries that both have. */
  function both<T>(path: string, ours: Entries<T>, theirs: Entries<T>): [string, T, T][] {
    const missing = Object.keys(theirs).filter((name) => !(name in ours));
    faults.push(...missing.map((name) => `${path}.${name} is missing`));
    newer.push(
      ...Object.keys(ours).filter((name) => !(name in theirs)).map((name) => `${path}.${name}`),
    );
    return Object.entries(ours).filter(([name]) => name in theirs)
      .map(([name, value]) => [name, value, theirs[name]!]);
  }
  function same<T extends number | bigint | string>(path: string, ours: T, theirs: T): T {
    if (ours !== theirs) faults.push(`${path} is ${ours}, and the header has ${theirs}`);
    return ours;
  }
  function integers(path: string, ours: Integers, theirs: Integers): Integers {
    const values = both(path, ours, theirs);
    return Object.fromEntries(
      values.map(([name, a, b]) => [name, same(`${path}.${name}`, a, b)]),
    );
  }
  function struct(tag: string, ours: Struct, theirs: Struct): Struct {
    const path = `structs.${tag}`;
    const fields = both(`${path}.fields`, ours.fields, theirs.fields);
    const isOlder = fields.length < Object.keys(ours.fields).length;
    const from = GROWS_AT_FRONT[tag] ?? "";
    const moved = (ours.fields[from]?.offset ?? 0) - (theirs.fields[from]?.offset ?? 0);
    const checked = fields.map(([name, a, b]): [string, Field] => {
      const at = `${path}.fields.${name}`;
      const offset = same(`${at}.offset`, a.offset - moved, b.offset);
      return [name, {
        offset,
        size: same(`${at}.size`, a.size, b.size),
        type: same(`${at}.type`, a.type, b.type),
      }];
    });
    const size = isOlder ? theirs.size : same(`${path}.size`, ours.size, theirs.size);
    return { size, fields: Object.fromEntries(checked) };
  }
  const structs = both("structs", table.structs, header.structs)
    .map(([tag, a, b]) => [tag, struct(tag, a, b)]);
  const enums = both("enums", table.enums, header.enums)
    .map(([tag, a, b]) => [tag, integers(`enums.${tag}`, a, b)]);
  const common = {
    structs: Object.fromEntries(structs),
    enums: Object.fromEntries(enums),
    constants: integers("constants", table.constants, header.constants),
  };
  return { faults, newer, common };
}
