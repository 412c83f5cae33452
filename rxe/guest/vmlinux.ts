/**
 * The kernel proper inside a bootable x86 image. QEMU starts it directly, without a firmware and
 * without the image's own decompressor, which takes seconds where the guest's instructions are
 * emulated.
 */

import { demand } from "../host/shell.ts";

// The boot protocol's header: https://docs.kernel.org/arch/x86/boot.html
const SETUP_SECTORS = 0x1f1;
const MAGIC = 0x202;
const PAYLOAD_OFFSET = 0x248;
const PAYLOAD_LENGTH = 0x24c;
const SECTOR = 512;

const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];

/**
 * The compressed kernel of an image, without the four bytes of its size that follow it; undefined
 * when it is not xz.
 */
export function xzPayload(image: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  if (image.length < SECTOR * 2 || view.getUint32(MAGIC, true) !== 0x53726448) return undefined;
  // Zero stands for four, from times before the field existed.
  const start = ((image[SETUP_SECTORS] || 4) + 1) * SECTOR + view.getUint32(PAYLOAD_OFFSET, true);
  const payload = image.slice(start, start + view.getUint32(PAYLOAD_LENGTH, true) - 4);
  return XZ.every((byte, i) => payload[i] === byte) ? payload : undefined;
}

/** Writes the kernel inside an image to a file; false when the image holds it in another form. */
export async function extractKernel(image: string, target: string): Promise<boolean> {
  const payload = xzPayload(await Deno.readFile(image));
  if (!payload) return false;
  await Deno.writeFile(`${target}.xz`, payload);
  await demand("xz", "-d", `${target}.xz`);
  return true;
}
