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
  Deno.test(`buildImage() writes a little-endian 64-bit shared object for ${arch}`, () => {
    const image = buildImage(manyThunks(3), arch, ERRNO_LOCATION);
    assertEquals([...image.subarray(0, 8)], [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
    const elf = readElf(image);
    assertEquals(elf.type, ET_DYN);
    assertEquals(elf.machine, { x86_64: 62, aarch64: 183 }[arch]);
    assertMatch(elf.soname, /^ibverbs-thunks-[0-9a-f]{16}\.so$/);
  });

  Deno.test(`buildImage() names ${arch} images by what they hold`, () => {
    const image = (address: bigint): string => {
      const thunks = [{ name: "call", target: { address } }];
      return sonameOf(buildImage(thunks, arch, ERRNO_LOCATION));
    };
    assertEquals(image(0x1000n), image(0x1000n));
    assertNotEquals(image(0x1000n), image(0x1001n));
    assertEquals(
      image(0x1000n),
      readElf(
        buildImage([{ name: "call", target: { address: 0x1000n } }], arch, ERRNO_LOCATION),
      ).soname,
    );
  });

  for (const count of [0, 1, 3, 400]) {
    Deno.test(`buildImage() maps no page of ${count} ${arch} thunks both writable and executable`, () => {
      const elf = readElf(buildImage(manyThunks(count), arch, ERRNO_LOCATION));
      const loads = elf.segments.filter(({ type }) => type === PT_LOAD);
      assertEquals(loads.map(({ flags }) => flags), [READ | EXECUTE, READ | WRITE]);
      const [code, data] = loads.map((segment) => pagesOf(segment, PAGE_SIZE[arch]));
      assert(code!.last < data!.first);
      const stack = elf.segments.find(({ type }) => type === PT_GNU_STACK);
      assertEquals(stack?.flags, READ | WRITE);
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

  Deno.test(`buildImage() aligns ${arch} segments as the loader wants`, () => {
    const image = buildImage(manyThunks(400), arch, ERRNO_LOCATION);
    const { segments } = readElf(image);
    for (const { offset, address, alignment, fileSize, memorySize } of segments) {
      assertEquals(offset % alignment, address % alignment);
      assertEquals(fileSize, memorySize);
      assert(offset + fileSize <= image.length);
    }
    const loads = segments.filter(({ type }) => type === PT_LOAD);
    assertEquals(loads.map(({ alignment }) => alignment), [PAGE_SIZE[arch], PAGE_SIZE[arch]]);
  });

  Deno.test(`buildImage() puts the dynamic section of ${arch} where the loader may write`, () => {
    const { segments } = readElf(buildImage(manyThunks(400), arch, ERRNO_LOCATION));
    const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)!;
    const writable = segments.find(({ type, flags }) => type === PT_LOAD && (flags & WRITE) !== 0)!;
    assert(dynamic.address >= writable.address);
    const end = dynamic.address + dynamic.memorySize;
    assert(end <= writable.address + writable.memorySize);
  });
}

Deno.test("buildImage() throws TypeError when a name is not a C identifier", () => {
  for (const name of ["", "1st", "a-b", "a\0b", "é", "a b", "a\n"]) {
    assertThrows(() => build({ name, target: { path: [0] } }), TypeError, "identifier");
  }
});

Deno.test("buildImage() throws TypeError when a name is there twice", () => {
  const thunk = { name: "twice", target: { path: [0] } };
  assertThrows(() => build(thunk, thunk), TypeError, "twice");
});

Deno.test("buildImage() throws TypeError when a path leads nowhere", () => {
  assertThrows(() => build({ name: "f", target: { path: [] } }), TypeError, "empty");
  assertThrows(
    () => build({ name: "f", target: { path: [0] }, errnoAfter: 0 }),
    TypeError,
    "first argument",
  );
});

Deno.test("buildImage() throws RangeError when an offset is out of reach or not of a pointer", () => {
  for (const offset of [-4096, 32768, 4, -1, 0.5, NaN, Infinity]) {
    assertThrows(() => build({ name: "f", target: { path: [0, offset] } }), RangeError, "offset");
  }
  for (const offset of [-4088, 0, 32760]) build({ name: "f", target: { path: [offset] } });
});

Deno.test("buildImage() throws RangeError when there are too many or too few parameters", () => {
  for (const errnoAfter of [-1, 8, 1.5, NaN]) {
    const thunk = { name: "f", target: { address: 1n }, errnoAfter };
    assertThrows(() => build(thunk), RangeError, "errnoAfter");
  }
});

Deno.test("buildImage() throws RangeError when an address is NULL or no 64-bit number", () => {
  for (const address of [0n, -1n, 2n ** 64n]) {
    assertThrows(() => build({ name: "f", target: { address } }), RangeError, "address");
    assertThrows(
      () => buildImage([{ name: "f", target: { path: [0] }, errnoAfter: 1 }], "x86_64", address),
      RangeError,
      "__errno_location",
    );
  }
});

Deno.test("buildImage() ignores errnoLocation when no thunk keeps errno", () => {
  const image = buildImage([{ name: "f", target: { path: [0] } }], "x86_64", 0n);
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

function build(...thunks: Thunk[]): void {
  for (const arch of ARCHES) buildImage(thunks, arch, ERRNO_LOCATION);
}

function pagesOf(
  { address, memorySize }: Segment,
  pageSize: number,
): { first: number; last: number } {
  return {
    first: Math.floor(address / pageSize),
    last: Math.floor((address + memorySize - 1) / pageSize),
  };
}
