/** Compares the table with a header that may be older. */

import type { Field, Integer, Layout, Struct } from "./model.ts";

/** What a comparison finds, by the places of entries. */
interface Compared {
  readonly faults: string[];
  readonly newer: string[];
  /** The entries of the table that the header has as well, with the numbers that an older header has. */
  readonly common: Layout;
}

/** Entries by their names, and entries within them. */
type Entries = { readonly [name: string]: Entries | Integer | string };

/** Structs that grow at their front. What is in them is found from this field. */
const GROWS_AT_FRONT: Readonly<Record<string, string>> = { verbs_context: "context" };

/** Compares a table with what the header fixes. */
export function compare(table: Layout, header: Layout): Compared {
  const [faults, newer]: [string[], string[]] = [[], []];
  function both(path: string, ours: Entries, theirs: Entries): Entries {
    const missing = Object.keys(theirs).filter((name) => !(name in ours));
    faults.push(...missing.map((name) => `${path}${name} is missing`));
    const common: [string, Entries[string]][] = [];
    for (const [name, value] of Object.entries(ours)) {
      const [place, other] = [path + name, theirs[name]];
      if (other === undefined) newer.push(place);
      else if (typeof value === "object") {
        common.push([name, both(`${place}.`, value, other as Entries)]);
      } else {
        if (value !== other) faults.push(`${place} is ${value}, and the header has ${other}`);
        common.push([name, value]);
      }
    }
    return Object.fromEntries(common);
  }
  const structs = Object.entries(table.structs)
    .map(([tag, struct]) => [tag, asOldAs(header.structs[tag] ?? struct, tag, struct)]);
  const ours = { ...table, structs: Object.fromEntries(structs) };
  const common = both("", ours as unknown as Entries, header as unknown as Entries);
  return { faults, newer, common: common as unknown as Layout };
}

/** A struct as an older one has it: smaller where fields came later, and moved where they came at its front. */
function asOldAs(older: Struct, tag: string, { size, fields }: Struct): Struct {
  const front = GROWS_AT_FRONT[tag] ?? "";
  const moved = (fields[front]?.offset ?? 0) - (older.fields[front]?.offset ?? 0);
  const isOlder = Object.keys(fields).some((name) => !(name in older.fields));
  const move = ([name, field]: [string, Field]): [string, Field] => [
    name,
    { ...field, offset: field.offset - moved },
  ];
  return {
    size: isOlder ? older.size : size,
    fields: Object.fromEntries(Object.entries(fields).map(move)),
  };
}
