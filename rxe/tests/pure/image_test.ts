// What the guest starts from: the archive its kernel unpacks, and that kernel itself.

import { assertEquals } from "@std/assert";
import { cpio } from "../../guest/cpio.ts";
import { extractKernel, xzPayload } from "../../guest/kernel.ts";
import { members } from "./archive.ts";

const encoder = new TextEncoder();

Deno.test("cpio() writes what reads back when names and contents have any length", () => {
  const archive = cpio([
    { name: "bin" },
    { name: "bin/a", contents: encoder.encode("1") },
    { name: "bin/bc", contents: encoder.encode("12345") },
    { name: "empty", contents: new Uint8Array() },
  ]);
  assertEquals(
    Object.entries(members(archive)).map(([name, { mode, inode, text }]) =>
      `${inode} ${mode} ${name} ${text}`
    ),
    [
      "1 40755 bin ",
      "2 100755 bin/a 1",
      "3 100755 bin/bc 12345",
      "4 100755 empty ",
      "5 100755 TRAILER!!! ",
    ],
  );
});

/** An image with the fields of the boot protocol's header that matter here. */
function bootImage(payload: Uint8Array, setupSectors: number): Uint8Array {
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
  const payload = Uint8Array.of(...XZ, 1, 2, 3);
  assertEquals(xzPayload(bootImage(payload, 7)), payload);
  // An image that names no number of sectors has four.
  assertEquals(xzPayload(bootImage(payload, 0)), payload);
  const other = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 2, 3);
  const wrong = bootImage(payload, 7);
  wrong[0x202] = 0;
  for (const image of [bootImage(other, 7), wrong, new Uint8Array(4096), new Uint8Array(300)]) {
    assertEquals(xzPayload(image), undefined);
  }
});

Deno.test("extractKernel() writes the kernel of an image, unless it has another form", async () => {
  const folder = await Deno.makeTempDir();
  const [image, target] = [`${folder}/image`, `${folder}/kernel`];
  await Deno.writeTextFile(`${folder}/plain`, "the kernel");
  await new Deno.Command("xz", { args: [`${folder}/plain`] }).output();
  await Deno.writeFile(image, bootImage(await Deno.readFile(`${folder}/plain.xz`), 7));
  assertEquals(await extractKernel(image, target), true);
  assertEquals(await Deno.readTextFile(target), "the kernel");
  await Deno.writeTextFile(image, "no image");
  assertEquals(await extractKernel(image, `${folder}/other`), false);
  assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
    "image",
    "kernel",
    "plain.xz",
  ]);
  await Deno.remove(folder, { recursive: true });
});
