// The shared object around the thunks, read back as a loader would.
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { SharedObject } from "../../ffi/thunks/elf.ts";
import { buildImage } from "../../ffi/thunks/image.ts";
import type { Thunk } from "../../ffi/thunks/thunk.ts";
import { PT_DYNAMIC, PT_GNU_STACK, PT_LOAD, readElf, type Segment } from "./thunks_elf.ts";

const ARCHES = ["x86_64", "aarch64"] as const;
const PAGE_SIZE = { x86_64: 4096, aarch64: 65536 };
const ET_DYN = 3;
const EXECUTE = 1;
const WRITE = 2;
const READ = 4;
const ERRNO_LOCATION = 0x7fff_0000_1000n;

for (const arch of ARCHES) {
  Deno.test(`buildImage() names ${arch} images by what they hold`, () => {
    const image = (address: bigint): SharedObject =>
      buildImage([{ name: "call", target: { address } }], arch, ERRNO_LOCATION);
    const name = image(0x1000n).soname;
    assertMatch(name, /^\/ibverbs-thunks-[0-9a-f]{16}\.so$/);
    assertEquals([image(0x1000n).soname, readElf(image(0x1000n).bytes).soname], [name, name]);
    assertNotEquals(image(0x1001n).soname, name);
  });

  for (const count of [0, 1, 3, 400]) {
    Deno.test(`buildImage() writes a shared object of ${count} ${arch} thunks as the loader wants it`, () => {
      const { bytes: image } = buildImage(manyThunks(count), arch, ERRNO_LOCATION);
      // 64 bits, little-endian.
      assertEquals([...image.subarray(0, 8)], [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
      const { type, machine, segments } = readElf(image);
      assertEquals([type, machine], [ET_DYN, { x86_64: 62, aarch64: 183 }[arch]]);
      for (const { offset, address, alignment, fileSize, memorySize } of segments) {
        assertEquals(offset % alignment, address % alignment);
        assertEquals(fileSize, memorySize);
        assert(offset + fileSize <= image.length);
      }
      // No page is both writable and executable.
      const loads = segments.filter(({ type }) => type === PT_LOAD);
      const kinds = loads.map(({ flags, alignment }) => ({ flags, alignment }));
      const alignment = PAGE_SIZE[arch];
      assertEquals(kinds, [
        { flags: READ | EXECUTE, alignment },
        { flags: READ | WRITE, alignment },
      ]);
      const [code, data] = loads as [Segment, Segment];
      const pageOf = (address: number): number => Math.floor(address / alignment);
      assert(pageOf(code.address + code.memorySize - 1) < pageOf(data.address));
      const stack = segments.find(({ type }) => type === PT_GNU_STACK);
      assertEquals(stack?.flags, READ | WRITE);
      // The loader writes into the dynamic section.
      const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)!;
      assert(dynamic.address >= data.address);
      assert(dynamic.address + dynamic.memorySize <= data.address + data.memorySize);
    });

    Deno.test(`buildImage() makes every name of ${count} ${arch} thunks findable by its hash`, () => {
      const thunks = manyThunks(count);
      const elf = readElf(buildImage(thunks, arch, ERRNO_LOCATION).bytes);
      for (const thunk of thunks) {
        const alone = readElf(buildImage([thunk], arch, ERRNO_LOCATION).bytes).lookUp(thunk.name);
        assert(alone !== undefined && alone.length > 0);
        assertEquals(elf.lookUp(thunk.name), alone, thunk.name);
      }
      assertEquals(elf.lookUp("ibv_of_nobody"), undefined);
    });
  }
}

/** Thunks of all kinds, with addresses and offsets of their own. */
function manyThunks(count: number): Thunk[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `ibv_thunk_${i.toString(36)}`,
    target: i % 2 === 0 ? { path: [0, 8 * i] } : { address: 0x7f00_1234_0000n + BigInt(i) },
    ...(i % 3 === 0 ? {} : { errnoAfter: 1 + i % 7 }),
  }));
}
