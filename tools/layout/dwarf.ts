/** Reads the debugging information of a program as `readelf` prints it. */

import { demand, lastLines, SetupError } from "../host/setup.ts";
import { type Architecture, gcc, prefixOf } from "./toolchain.ts";

/** One debugging information entry: a type, a member, an enumerator. */
export interface Entry {
  /** What it describes, "structure_type" for `DW_TAG_structure_type`. */
  readonly tag: string;
  /** Attributes by their name without `DW_AT_`, values as printed. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The entries it owns, in the order of the source. */
  readonly children: Entry[];
  readonly type: Entry | undefined;
}

/** The types that a program defines, in the order of the source. */
export async function readEntries(arch: Architecture, source: string): Promise<Entry[]> {
  const object = await Deno.makeTempFile({ suffix: ".o" });
  try {
    const flags = ["-g", "-fno-eliminate-unused-debug-types", "-c", "-o", object];
    const { status, stderr } = await gcc(arch, source, ...flags);
    if (status !== 0) throw new SetupError(`Cannot compile the header: ${lastLines(stderr, 8)}`);
    return parse(await demand(`${prefixOf(arch)}readelf`, "--debug-dump=info", object));
  } finally {
    await Deno.remove(object);
  }
}

function parse(text: string): Entry[] {
  const byOffset = new Map<string, Entry>();
  const open: Entry[] = [];
  let attributes = new Map<string, string>();
  for (const line of text.split("\n")) {
    const start = /^ <(\d+)><([0-9a-f]+)>: .*\(DW_TAG_(\w+)\)/.exec(line);
    if (start) {
      const [, depth, offset, tag] = start;
      const own = attributes = new Map();
      const entry: Entry = {
        tag: tag!,
        attributes,
        children: [],
        get type() {
          return byOffset.get(own.get("type") ?? "");
        },
      };
      byOffset.set(offset!, entry);
      open.length = Number(depth);
      open.at(-1)?.children.push(entry);
      open.push(entry);
      continue;
    }
    const attribute = /^ +<[0-9a-f]+> +DW_AT_(\w+) *: ?(.*)$/.exec(line);
    if (attribute) attributes.set(attribute[1]!, plain(attribute[2]!));
  }
  return open[0]?.children ?? [];
}

/** Strips what `readelf` adds to a value: where a string is stored, the brackets of a reference, a gloss. */
function plain(value: string): string {
  return value.trim()
    .replace(/^\([^)]*string[^)]*\): /, "")
    .replace(/^<0x([0-9a-f]+)>$/, "$1")
    .replace(/\t.*$/, "");
}
