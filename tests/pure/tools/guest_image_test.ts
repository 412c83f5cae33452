// What the guest starts from: the archive its kernel unpacks, and that kernel itself.

import { assertEquals } from "@std/assert";
import { cpio } from "../../../rxe/guest/cpio.ts";
import { xzPayload } from "../../../rxe/guest/vmlinux.ts";

const encoder = new TextEncoder();

/** Reads an archive by the format's own rules, so that a wrong length or padding shows. */
function members(archive: Uint8Array): Record<string, string> {
  const found: Record<string, string> = {};
  const text = (start: number, length: number): string =>
    new TextDecoder().decode(archive.subarray(start, start + length));
  const field = (header: number, index: number): number =>
    parseInt(text(header + 6 + 8 * index, 8), 16);
  for (let header = 0; header < archive.length;) {
    assertEquals(text(header, 6), "070701");
    const nameLength = field(header, 11);
    const contents = Math.ceil((header + 110 + nameLength) / 4) * 4;
    const name = text(header + 110, nameLength - 1);
    found[name] = `${field(header, 1).toString(8)} ${text(contents, field(header, 6))}`;
    header = Math.ceil((contents + field(header, 6)) / 4) * 4;
  }
  return found;
}

Deno.test("cpio() writes what reads back when names and contents have any length", () => {
  const archive = cpio([
    { name: "bin" },
    { name: "bin/a", contents: encoder.encode("1") },
    { name: "bin/bc", contents: encoder.encode("12345") },
    { name: "empty", contents: new Uint8Array() },
  ]);
  assertEquals(members(archive), {
    "bin": "40755 ",
    "bin/a": "100755 1",
    "bin/bc": "100755 12345",
    "empty": "100755 ",
    "TRAILER!!!": "100755 ",
  });
});

/** An image with the fields of the boot protocol's header that matter here. */
function bootImage(magic: number[], setupSectors: number): Uint8Array {
  const payload = [...magic, 1, 2, 3];
  const start = ((setupSectors || 4) + 1) * 512 + 16;
  const image = new Uint8Array(start + payload.length + 4);
  const view = new DataView(image.buffer);
  image[0x1f1] = setupSectors;
  image.set(encoder.encode("HdrS"), 0x202);
  view.setUint32(0x248, 16, true);
  view.setUint32(0x24c, payload.length + 4, true);
  image.set(payload, start);
  view.setUint32(start + payload.length, 99, true);
  return image;
}

const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];

Deno.test("xzPayload() finds a kernel in xz form, without the size at the end", () => {
  const payload = new Uint8Array([...XZ, 1, 2, 3]);
  assertEquals(xzPayload(bootImage(XZ, 7)), payload);
  // An image that names no number of sectors has four.
  assertEquals(xzPayload(bootImage(XZ, 0)), payload);
  assertEquals(xzPayload(bootImage([0x28, 0xb5, 0x2f, 0xfd, 0, 0], 7)), undefined);
  assertEquals(xzPayload(new Uint8Array(4096)), undefined);
});
