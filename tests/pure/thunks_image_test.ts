// The shared object around the thunks, read back as a loader would.
import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { sonameOf } from "../../ffi/thunks/elf.ts";
import { type Arch, buildImage, type Thunk, ThunksUnavailable } from "../../ffi/thunks/mod.ts";
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
    const image = (address: bigint): Uint8Array<ArrayBuffer> =>
      buildImage([{ name: "call", target: { address } }], arch, ERRNO_LOCATION);
    const name = sonameOf(image(0x1000n));
    assertMatch(name, /^ibverbs-thunks-[0-9a-f]{16}\.so$/);
    assertEquals([sonameOf(image(0x1000n)), readElf(image(0x1000n)).soname], [name, name]);
    assertNotEquals(sonameOf(image(0x1001n)), name);
  });

  for (const count of [0, 1, 3, 400]) {
    Deno.test(`buildImage() writes a shared object of ${count} ${arch} thunks as the loader wants it`, () => {
      const image = buildImage(manyThunks(count), arch, ERRNO_LOCATION);
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
      const elf = readElf(buildImage(thunks, arch, ERRNO_LOCATION));
      for (const thunk of thunks) {
        const alone = readElf(buildImage([thunk], arch, ERRNO_LOCATION)).lookUp(thunk.name);
        assert(alone !== undefined && alone.length > 0);
        assertEquals(elf.lookUp(thunk.name), alone, thunk.name);
      }
      assertEquals(elf.lookUp("ibv_of_nobody"), undefined);
    });
  }
}

const target = { path: [0] };
const ADDRESSES = [0n, -1n, 2n ** 64n];

/** Thunks that cannot be, by what the message names. */
const WRONG: readonly [message: string, error: typeof TypeError, Thunk[][]][] = [
  [
    "identifier",
    TypeError,
    ["", "1st", "a-b", "a\0b", "é", "a b", "a\n"].map((name) => [{ name, target }]),
  ],
  ["twice", TypeError, [[{ name: "twice", target }, { name: "twice", target }]]],
  ["empty", TypeError, [[{ name: "f", target: { path: [] } }]]],
  ["first argument", TypeError, [[{ name: "f", target, errnoAfter: 0 }]]],
  [
    "offset",
    RangeError,
    [-4096, 32768, 4, -1, 0.5, NaN, Infinity].map((offset) => [
      { name: "f", target: { path: [0, offset] } },
    ]),
  ],
  [
    "errnoAfter",
    RangeError,
    [-1, 8, 1.5, NaN].map((errnoAfter) => [{ name: "f", target: { address: 1n }, errnoAfter }]),
  ],
  ["address", RangeError, ADDRESSES.map((address) => [{ name: "f", target: { address } }])],
];

Deno.test("buildImage() refuses thunks that cannot be", () => {
  for (const arch of ARCHES) {
    for (const [message, error, images] of WRONG) {
      for (const thunks of images) {
        assertThrows(() => buildImage(thunks, arch, ERRNO_LOCATION), error, message);
      }
    }
    for (const offset of [-4088, 0, 32760]) {
      buildImage([{ name: "f", target: { path: [offset] } }], arch, ERRNO_LOCATION);
    }
  }
});

Deno.test("buildImage() needs errnoLocation only when a thunk keeps errno", () => {
  for (const location of ADDRESSES) {
    const build = (): unknown =>
      buildImage([{ name: "f", target, errnoAfter: 1 }], "x86_64", location);
    assertThrows(build, RangeError, "__errno_location");
  }
  const image = buildImage([{ name: "f", target }], "x86_64", 0n);
  assert(readElf(image).lookUp("f") !== undefined);
});

Deno.test("buildImage() throws ThunksUnavailable when the architecture has no thunks", () => {
  for (const arch of ["riscv64", "toString"]) {
    assertThrows(() => buildImage([], arch as Arch, 0n), ThunksUnavailable, arch);
  }
});

/** Thunks of all kinds, with addresses and offsets of their own. */
function manyThunks(count: number): Thunk[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `ibv_thunk_${i.toString(36)}`,
    target: i % 2 === 0 ? { path: [0, 8 * i] } : { address: 0x7f00_1234_0000n + BigInt(i) },
    ...(i % 3 === 0 ? {} : { errnoAfter: 1 + i % 7 }),
  }));
}
