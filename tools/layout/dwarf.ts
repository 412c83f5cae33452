/**
 * Reads the debugging information of an object file as `readelf` prints it.
 *
 * @module
 */
import { run, type Toolchain } from "./toolchain.ts";

/** One debugging information entry: a type, a member, an enumerator. */
export interface Entry {
  /** What it describes, "structure_type" for `DW_TAG_structure_type`. */
  readonly tag: string;
  /** Attributes by their name without `DW_AT_`, values as printed. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The entries it owns, in the order of the source. */
  readonly children: Entry[];
}

/** All that one object file says about its types. */
export interface DebugInfo {
  /** The entries at file scope, in the order of the source. */
  readonly entries: readonly Entry[];
  /** Every entry by the offset that references use. */
  readonly byOffset: ReadonlyMap<string, Entry>;
  /** Paths of the source files, by the number that `decl_file` uses. */
  readonly files: ReadonlyMap<string, string>;
}

/** Reads an object file compiled with `-g`. */
export async function readDebugInfo(
  toolchain: Toolchain,
  path: string,
): Promise<DebugInfo> {
  const readelf = `${toolchain.prefix}readelf`;
  const info = await run(readelf, ["--debug-dump=info", path]);
  const lines = await run(readelf, ["--debug-dump=rawline", path]);
  return { ...parseEntries(info), files: parseFiles(lines) };
}

function parseEntries(text: string): Pick<DebugInfo, "entries" | "byOffset"> {
  const byOffset = new Map<string, Entry>();
  const open: Entry[] = [];
  let attributes = new Map<string, string>();
  for (const line of text.split("\n")) {
    const start = /^ <(\d+)><([0-9a-f]+)>: .*\(DW_TAG_(\w+)\)/.exec(line);
    if (start) {
      const [, depth = "", offset = "", tag = ""] = start;
      attributes = new Map();
      const entry: Entry = { tag, attributes, children: [] };
      byOffset.set(offset, entry);
      open.length = Number(depth);
      open.at(-1)?.children.push(entry);
      open.push(entry);
      continue;
    }
    const attribute = /^ +<[0-9a-f]+> +DW_AT_(\w+) *: ?(.*)$/.exec(line);
    if (attribute) {
      const [, name = "", value = ""] = attribute;
      attributes.set(name, plain(value));
    }
  }
  return { entries: open[0]?.children ?? [], byOffset };
}

/** Strips what `readelf` adds to a value: where a string is stored, the brackets of a reference, a gloss. */
function plain(value: string): string {
  return value.trim()
    .replace(/^\([^)]*string[^)]*\): /, "")
    .replace(/^<0x([0-9a-f]+)>$/, "$1")
    .replace(/\t.*$/, "");
}

function parseFiles(text: string): Map<string, string> {
  const [, directoryTable = "", fileTable = ""] = text.split(
    /The (?:Directory|File Name) Table/,
  );
  const directories = new Map<string, string>();
  for (const line of directoryTable.split("\n")) {
    const row = /^ +(\d+)\t(.*)$/.exec(line);
    if (row) directories.set(row[1] ?? "", plain(row[2] ?? ""));
  }
  const files = new Map<string, string>();
  for (const line of fileTable.split("\n")) {
    const row = /^ +(\d+)\t(\d+)\t(.*)$/.exec(line);
    if (row) {
      const folder = directories.get(row[2] ?? "");
      files.set(row[1] ?? "", `${folder}/${plain(row[3] ?? "")}`);
    }
  }
  return files;
}
