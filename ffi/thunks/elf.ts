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
  /**
   * Its machine code, in parts that follow each other: joining them would leave a megabyte of garbage for 170 thunks.
   */
  readonly code: readonly ArrayLike<number>[];
}

/**
 * A shared object. Two with the same SONAME are identical. The SONAME looks like a path, so that the loader does not
 * search 50 folders for it.
 */
export interface SharedObject {
  readonly soname: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const HEADER_SIZE = 64;
const PROGRAM_HEADER_SIZE = 56;
const PROGRAM_HEADERS = 4;
const HASH = HEADER_SIZE + PROGRAM_HEADERS * PROGRAM_HEADER_SIZE;
const SYMBOL_SIZE = 24;
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

const ET_DYN = 3;
const EV_CURRENT = 1;
const GLOBAL_FUNCTION = 0x12; // STB_GLOBAL << 4 | STT_FUNC
// With any section but SHN_UNDEF and SHN_ABS the loader adds the load address. There is no section table to index.
const SOME_SECTION = 1;
/** Where the SONAME starts in the string table: offset 0 is the empty string. */
const SONAME = 1;

/** Returns a shared object that exports `functions`. Its SONAME is `name` with a hash of its bytes. */
export function writeSharedObject(
  name: string,
  functions: readonly ElfFunction[],
  { machine, pageSize }: ElfMachine,
): SharedObject {
  const unnamed = sonameOf(name, "0".repeat(HASH_LENGTH));
  const names = [unnamed, ...functions.map(({ name }) => name)];
  const strings = new TextEncoder().encode(`\0${names.join("\0")}\0`);
  const symbolsAt = align(HASH + 4 * (4 + functions.length), 8);
  const stringsAt = symbolsAt + (1 + functions.length) * SYMBOL_SIZE;
  const symbols = placeFunctions(
    functions,
    SONAME + unnamed.length + 1,
    stringsAt + strings.length,
  );
  const dynamicAt = align(symbols.end, 8);
  const dynamic = dynamicSection(symbolsAt, stringsAt, strings.length);
  const image = new Uint8Array(dynamicAt + 4 * dynamic.length);
  const view = new DataView(image.buffer);
  writeWords(view, 0, header(machine));
  writeWords(view, HEADER_SIZE, programHeaders(dynamicAt, image.length, pageSize));
  writeWords(view, HASH, hashTable(functions.length));
  writeWords(view, symbolsAt + SYMBOL_SIZE, symbols.words);
  writeWords(view, dynamicAt, dynamic);
  image.set(strings, stringsAt);
  functions.forEach(({ code }, i) => writeParts(image, symbols.places[i]!, code));
  const soname = sonameOf(name, hashOf(image));
  image.set(new TextEncoder().encode(soname), stringsAt + SONAME);
  return { soname, bytes: image };
}

function sonameOf(name: string, hash: string): string {
  return `/${name}-${hash}.so`;
}

function writeWords(view: DataView, at: number, words: readonly number[]): void {
  words.forEach((word, i) => view.setUint32(at + 4 * i, word, true));
}

function writeParts(image: Uint8Array, at: number, parts: readonly ArrayLike<number>[]): void {
  for (const part of parts) {
    image.set(part, at);
    at += part.length;
  }
}

/** Numbers of 64 bits as words. */
function wide(...values: readonly number[]): number[] {
  return values.flatMap((value) => [value, 0]);
}

function header(machine: number): number[] {
  return [
    0x464c457f, // magic
    0x00010102, // ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE
    ...wide(0),
    ET_DYN | machine << 16,
    EV_CURRENT,
    ...wide(0, HEADER_SIZE, 0), // e_entry, e_phoff, e_shoff
    0, // e_flags
    HEADER_SIZE | PROGRAM_HEADER_SIZE << 16, // e_ehsize, e_phentsize
    PROGRAM_HEADERS | 64 << 16, // e_phnum, e_shentsize of no section
  ];
}

function programHeaders(dynamic: number, size: number, pageSize: number): number[] {
  const length = size - dynamic;
  // One page further in memory than in the file: the loader writes to it, so it may share no page with the code.
  const address = dynamic + pageSize;
  // p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align
  return [
    ...[PT_LOAD, PF_R | PF_X, ...wide(0, 0, 0, dynamic, dynamic, pageSize)],
    ...[PT_LOAD, PF_R | PF_W, ...wide(dynamic, address, address, length, length, pageSize)],
    ...[PT_DYNAMIC, PF_R | PF_W, ...wide(dynamic, address, address, length, length, 8)],
    ...[PT_GNU_STACK, PF_R | PF_W, ...wide(0, 0, 0, 0, 0, 16)],
  ];
}

/** One bucket whose chain has all symbols: the loader compares names. */
function hashTable(count: number): number[] {
  // Symbol 0 is the undefined one, and ends the chain.
  return [1, 1 + count, count, 0, ...Array.from({ length: count }, (_, i) => i)];
}

/** The places of functions from `end` on, and their symbols, whose names follow each other. */
function placeFunctions(
  functions: readonly ElfFunction[],
  nameAt: number,
  end: number,
): { places: number[]; words: number[]; end: number } {
  const places: number[] = [];
  const words: number[] = [];
  for (const { name, code } of functions) {
    const at = align(end, CODE_ALIGNMENT);
    places.push(at);
    end = code.reduce((end, { length }) => end + length, at);
    words.push(nameAt, GLOBAL_FUNCTION | SOME_SECTION << 16, at, 0, end - at, 0);
    nameAt += name.length + 1;
  }
  return { places, words, end };
}

function dynamicSection(symbolsAt: number, stringsAt: number, stringsSize: number): number[] {
  return wide(
    ...[DT_SONAME, SONAME, DT_HASH, HASH, DT_SYMTAB, symbolsAt, DT_SYMENT, SYMBOL_SIZE],
    ...[DT_STRTAB, stringsAt, DT_STRSZ, stringsSize],
    // A worker may end while one of its nonblocking calls is running: the code must outlive it.
    ...[DT_FLAGS_1, DF_1_NODELETE, DT_NULL, 0],
  );
}

/** Digits of `hashOf`. */
const HASH_LENGTH = 16;

/** 64 bits of an image, from two hashes of its words that start differently. */
function hashOf(image: Uint8Array<ArrayBuffer>): string {
  const words = new Int32Array(image.buffer);
  let left = 0x811c_9dc5 | 0;
  let right = 0x9dc5_811c | 0;
  for (let i = 0; i < words.length; i++) {
    left = Math.imul(left ^ words[i]!, 0x0100_0193);
    // Multiplying only moves bits up, so the upper ones are moved down.
    left ^= left >>> 15;
    right = Math.imul(right ^ words[i]!, 0x9e37_79b1) + left | 0;
  }
  return [left, right].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

function align(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
