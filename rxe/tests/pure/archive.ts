/** Reads archives by the rules of the format, so that a wrong length or padding shows. */

import { assertEquals } from "@std/assert";

/** What an archive holds. */
export interface Member {
  /** The octal mode: 40755 of a folder. */
  readonly mode: string;
  readonly inode: number;
  /** The contents, one character a byte. */
  readonly text: string;
}

/** The members of an archive by their names, in its order. */
export function members(archive: Uint8Array): Record<string, Member> {
  const found: Record<string, Member> = {};
  const text = (start: number, length: number): string =>
    new TextDecoder("latin1").decode(archive.subarray(start, start + length));
  const field = (header: number, index: number): number =>
    parseInt(text(header + 6 + 8 * index, 8), 16);
  for (let header = 0; header < archive.length;) {
    assertEquals(text(header, 6), "070701");
    const nameLength = field(header, 11);
    const contents = Math.ceil((header + 110 + nameLength) / 4) * 4;
    found[text(header + 110, nameLength - 1)] = {
      mode: field(header, 1).toString(8),
      inode: field(header, 0),
      text: text(contents, field(header, 6)),
    };
    header = Math.ceil((contents + field(header, 6)) / 4) * 4;
  }
  return found;
}
