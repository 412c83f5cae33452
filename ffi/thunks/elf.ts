// Writes a shared object as the gABI describes it: what the dynamic loader reads, and nothing more.

/** What differs between machines. */
export interface ElfMachine {
  /** `e_machine`. */
  readonly machine: number;
  /** Largest page size of the machine, in bytes: segments are aligned to it. */
  readonly pageSize: number;
}

/** A function to export. */
export interface ElfFunction {
  readonly name: string;
  readonly code: Uint8Array;
}

const HEADER_SIZE = 64;
const PROGRAM_HEADER_SIZE = 56;
const SYMBOL_SIZE = 24;
const DYNAMIC_ENTRY_SIZE = 16;
const CODE_ALIGNMENT = 16;

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_GNU_STACK = 0x6474e551;
const PF_X = 1;
const PF_W = 2;
const PF_R = 4;

const DT_NULL = 0;
const DT_HASH = 4;
const DT_STRTAB = 5;
const DT_SYMTAB = 6;
const DT_STRSZ = 10;
const DT_SYMENT = 11;
const DT_SONAME = 14;
const DT_FLAGS_1 = 0x6ffffffb;
const DF_1_NODELETE = 8;
const DYNAMIC_ENTRIES = 8;

const ET_DYN = 3;
const EV_CURRENT = 1;
const GLOBAL_FUNCTION = 0x12; // STB_GLOBAL << 4 | STT_FUNC
// Any section but SHN_UNDEF and SHN_ABS tells the loader to add the load address. There is no section table to index.
const SOME_SECTION = 1;

/** Offsets in the file; addresses are the same but for the dynamic section. */
interface Layout {
  readonly hash: number;
  readonly symbols: number;
  readonly strings: Strings;
  readonly stringsAt: number;
  readonly code: readonly number[];
  readonly dynamic: number;
  readonly dynamicAddress: number;
  readonly size: number;
}

/** A shared object. Two of the same SONAME are the same. */
export interface SharedObject {
  readonly soname: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Returns a shared object that exports `functions`. Its SONAME is `name` with a hash of its bytes. */
export function writeSharedObject(
  name: string,
  functions: readonly ElfFunction[],
  machine: ElfMachine,
): SharedObject {
  const unnamed = `${name}-${"0".repeat(HASH_LENGTH)}.so`;
  const layout = layOut(unnamed, functions, machine);
  const image = new Uint8Array(layout.size);
  const view = new DataView(image.buffer);
  writeHeader(view, machine);
  writeProgramHeaders(view, layout, machine);
  writeHash(view, layout.hash, functions.length);
  writeSymbols(view, layout, functions);
  image.set(layout.strings.bytes, layout.stringsAt);
  functions.forEach(({ code }, i) => image.set(code, layout.code[i]!));
  writeDynamic(view, layout);
  const soname = `${name}-${hashOf(image)}.so`;
  image.set(new TextEncoder().encode(soname), layout.stringsAt + layout.strings.offsets[0]!);
  return { soname, bytes: image };
}

const PROGRAM_HEADERS = 4;

function layOut(
  soname: string,
  functions: readonly ElfFunction[],
  { pageSize }: ElfMachine,
): Layout {
  const strings = packStrings([soname, ...functions.map(({ name }) => name)]);
  const hash = HEADER_SIZE + PROGRAM_HEADERS * PROGRAM_HEADER_SIZE;
  const symbols = align(hash + 4 * (4 + functions.length), 8);
  const stringsAt = symbols + (1 + functions.length) * SYMBOL_SIZE;
  let end = stringsAt + strings.bytes.length;
  const code = functions.map((f) => {
    const start = align(end, CODE_ALIGNMENT);
    end = start + f.code.length;
    return start;
  });
  const dynamic = align(end, 8);
  return {
    hash,
    symbols,
    strings,
    stringsAt,
    code,
    dynamic,
    // One page further in memory than in the file: the loader writes to it, so it may share no page with the code.
    dynamicAddress: dynamic + pageSize,
    size: dynamic + DYNAMIC_ENTRIES * DYNAMIC_ENTRY_SIZE,
  };
}

function writeHeader(view: DataView, { machine }: ElfMachine): void {
  // Magic, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE.
  [0x7f, 0x45, 0x4c, 0x46, 2, 1, EV_CURRENT, 0].forEach((byte, i) => view.setUint8(i, byte));
  view.setUint16(16, ET_DYN, true); //             e_type
  view.setUint16(18, machine, true); //            e_machine
  view.setUint32(20, EV_CURRENT, true); //         e_version
  view.setUint32(32, HEADER_SIZE, true); //        e_phoff
  view.setUint16(52, HEADER_SIZE, true); //        e_ehsize
  view.setUint16(54, PROGRAM_HEADER_SIZE, true); // e_phentsize
  view.setUint16(56, PROGRAM_HEADERS, true); //    e_phnum
  view.setUint16(58, 64, true); //                 e_shentsize, of no section
}

function writeProgramHeaders(
  view: DataView,
  layout: Layout,
  { pageSize }: ElfMachine,
): void {
  const { dynamic, dynamicAddress, size } = layout;
  const length = size - dynamic;
  const headers = [
    [PT_LOAD, PF_R | PF_X, 0, 0, dynamic, pageSize],
    [PT_LOAD, PF_R | PF_W, dynamic, dynamicAddress, length, pageSize],
    [PT_DYNAMIC, PF_R | PF_W, dynamic, dynamicAddress, length, 8],
    [PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16],
  ] as const;
  headers.forEach(([type, flags, offset, address, length, alignment], i) => {
    const at = HEADER_SIZE + i * PROGRAM_HEADER_SIZE;
    view.setUint32(at, type, true); //           p_type
    view.setUint32(at + 4, flags, true); //      p_flags
    view.setUint32(at + 8, offset, true); //     p_offset
    view.setUint32(at + 16, address, true); //   p_vaddr
    view.setUint32(at + 24, address, true); //   p_paddr
    view.setUint32(at + 32, length, true); //    p_filesz
    view.setUint32(at + 40, length, true); //    p_memsz
    view.setUint32(at + 48, alignment, true); // p_align
  });
}

/** One bucket whose chain has all symbols: the loader compares names. */
function writeHash(view: DataView, at: number, count: number): void {
  const symbols = 1 + count; // symbol 0 is the undefined one, and ends the chain
  [1, symbols, count].forEach((word, i) => view.setUint32(at + 4 * i, word, true));
  for (let i = 1; i < symbols; i++) view.setUint32(at + 4 * (3 + i), i - 1, true);
}

/** Digits of {@linkcode hashOf}. */
const HASH_LENGTH = 16;

/** 64 bits of an image, from two hashes of its words that start differently. */
function hashOf(image: Uint8Array<ArrayBuffer>): string {
  const words = new Int32Array(image.buffer);
  let left = 0x811c_9dc5 | 0;
  let right = 0x9dc5_811c | 0;
  for (let i = 0; i < words.length; i++) {
    left = Math.imul(left ^ words[i]!, 0x0100_0193);
    // Multiplying moves bits up only, so the upper ones are moved down.
    left ^= left >>> 15;
    right = Math.imul(right ^ words[i]!, 0x9e37_79b1) + left | 0;
  }
  return [left, right].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

function writeSymbols(
  view: DataView,
  layout: Layout,
  functions: readonly ElfFunction[],
): void {
  functions.forEach(({ code }, i) => {
    const at = layout.symbols + (1 + i) * SYMBOL_SIZE;
    view.setUint32(at, layout.strings.offsets[1 + i]!, true); // st_name
    view.setUint8(at + 4, GLOBAL_FUNCTION); //                   st_info
    view.setUint16(at + 6, SOME_SECTION, true); //               st_shndx
    view.setUint32(at + 8, layout.code[i]!, true); //            st_value
    view.setUint32(at + 16, code.length, true); //               st_size
  });
}

function writeDynamic(view: DataView, layout: Layout): void {
  const entries = [
    [DT_SONAME, layout.strings.offsets[0]!],
    [DT_HASH, layout.hash],
    [DT_SYMTAB, layout.symbols],
    [DT_SYMENT, SYMBOL_SIZE],
    [DT_STRTAB, layout.stringsAt],
    [DT_STRSZ, layout.strings.bytes.length],
    // A worker may end while one of its nonblocking calls is on its way: the code must outlive it.
    [DT_FLAGS_1, DF_1_NODELETE],
    [DT_NULL, 0],
  ] as const;
  entries.forEach(([tag, value], i) => {
    view.setUint32(layout.dynamic + i * DYNAMIC_ENTRY_SIZE, tag, true);
    view.setUint32(layout.dynamic + i * DYNAMIC_ENTRY_SIZE + 8, value, true);
  });
}

/** A string table and where each string starts. */
interface Strings {
  readonly bytes: Uint8Array;
  readonly offsets: readonly number[];
}

function packStrings(strings: readonly string[]): Strings {
  let end = 1; // offset 0 is the empty string
  const offsets = strings.map((string) => {
    const start = end;
    end += string.length + 1;
    return start;
  });
  return {
    bytes: new TextEncoder().encode(`\0${strings.join("\0")}\0`),
    offsets,
  };
}

function align(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
