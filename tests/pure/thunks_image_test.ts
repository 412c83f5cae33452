// The shared object around the thunks of both machines. The library tests have the loader of this host read it.
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { SharedObject } from "../../ffi/thunks/elf.ts";
import { buildImage } from "../../ffi/thunks/image.ts";
import type { Arch } from "../../ffi/thunks/thunk.ts";

/** `e_machine` and the largest page of each architecture. */
const ARCHES = { x86_64: [62, 4096], aarch64: [183, 65_536] } as const;

interface Segment {
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
  readonly alignment: number;
}

function imageOf(arch: string, address: bigint): SharedObject {
  return buildImage([{ name: "call", target: { address } }], arch as Arch, 0x7fff_0000_1000n);
}

/** The program headers. Each says twice how long its segment is: in the file, and in memory. */
function segmentsOf({ bytes }: SharedObject): Segment[] {
  const view = new DataView(bytes.buffer);
  const number = (at: number): number => Number(view.getBigUint64(at, true));
  return Array.from({ length: view.getUint16(56, true) }, (_, i) => {
    const at = number(32) + 56 * i;
    assertEquals(number(at + 32), number(at + 40));
    return {
      flags: view.getUint32(at + 4, true),
      offset: number(at + 8),
      address: number(at + 16),
      size: number(at + 32),
      alignment: number(at + 48),
    };
  });
}

for (const [arch, [machine, pageSize]] of Object.entries(ARCHES)) {
  Deno.test(`buildImage() names ${arch} images by what they hold`, () => {
    const { soname, bytes } = imageOf(arch, 0x1000n);
    assertMatch(soname, /^\/ibverbs-thunks-[0-9a-f]{16}\.so$/);
    assert(new TextDecoder("latin1").decode(bytes).includes(`\0${soname}\0`));
    assertEquals(imageOf(arch, 0x1000n).soname, soname);
    assertNotEquals(imageOf(arch, 0x1001n).soname, soname);
  });

  Deno.test(`buildImage() lets no page of ${arch} be both written and executed`, () => {
    const image = imageOf(arch, 0x1000n);
    // 64 bits, little-endian, a shared object.
    assertEquals(image.bytes.toHex().slice(0, 16), "7f454c4602010100");
    const header = new DataView(image.bytes.buffer);
    assertEquals([header.getUint16(16, true), header.getUint16(18, true)], [3, machine]);
    const segments = segmentsOf(image);
    // The code is read and executed; the data, the dynamic section and the stack are read and written.
    assertEquals(segments.map(({ flags }) => flags), [5, 6, 6, 6]);
    const [code, data, dynamic] = segments as [Segment, Segment, Segment];
    assertEquals(dynamic, { ...data, alignment: 8 });
    for (const { offset, address, alignment } of [code, data]) {
      assertEquals([alignment, offset % pageSize], [pageSize, address % pageSize]);
    }
    assertEquals([code.offset, data.offset + data.size], [0, image.bytes.length]);
    const pageOf = (address: number): number => Math.floor(address / pageSize);
    assert(pageOf(code.address + code.size - 1) < pageOf(data.address));
  });
}
