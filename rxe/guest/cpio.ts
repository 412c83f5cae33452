/** The archive format that the Linux kernel unpacks as its initial RAM file system ("newc" cpio). */

/** A file, or with no contents a folder. */
export interface Entry {
  /** Path without a leading slash. */
  name: string;
  contents?: Uint8Array;
}

const FILE = 0o100755;
const FOLDER = 0o040755;

/** Builds an archive; folders must come before what they hold. */
export function cpio(entries: readonly Entry[]): Uint8Array<ArrayBuffer> {
  const trailer = { name: "TRAILER!!!", contents: new Uint8Array() };
  return padded(...[...entries, trailer].flatMap((entry, i) => member(entry, i + 1)));
}

function member(entry: Entry, inode: number): Uint8Array[] {
  const contents = entry.contents ?? new Uint8Array();
  const mode = entry.contents ? FILE : FOLDER;
  const name = new TextEncoder().encode(`${entry.name}\0`);
  // inode, mode, uid, gid, links, time, size, four device numbers, length of the name, unused
  // checksum
  const numbers = [inode, mode, 0, 0, 1, 0, contents.length, 0, 0, 0, 0, name.length, 0];
  const header = "070701" + numbers.map((number) => number.toString(16).padStart(8, "0")).join("");
  return [padded(new TextEncoder().encode(header), name), padded(contents)];
}

/** The format aligns what follows a name and what follows a file's contents to four bytes. */
function padded(...chunks: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = chunks.reduce((size, chunk) => size + chunk.length, 0);
  const result = new Uint8Array(Math.ceil(length / 4) * 4);
  let offset = 0;
  for (const chunk of chunks) {
    result.set(chunk, offset);
    offset += chunk.length;
  }
  return result;
}
