// Reads a shared object as the dynamic loader does: program headers, dynamic section, DT_HASH.

export interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
  readonly alignment: number;
}

export interface Elf {
  readonly type: number;
  readonly machine: number;
  readonly segments: readonly Segment[];
  readonly soname: string;
  /** Code of a symbol, found by its hash. */
  lookUp(name: string): Uint8Array | undefined;
}

export const PT_LOAD = 1;
export const PT_DYNAMIC = 2;
export const PT_GNU_STACK = 0x6474e551;

/** Throws RangeError where an address is in no segment. */
export function readElf(image: Uint8Array<ArrayBuffer>): Elf {
  const view = new DataView(image.buffer);
  const segments = readSegments(view);
  const dynamic = readDynamic(view, segments);
  const strings = fileOffset(segments, dynamic.get(5)!);
  return {
    type: view.getUint16(16, true),
    machine: view.getUint16(18, true),
    segments,
    soname: readString(image, strings + dynamic.get(14)!),
    lookUp: (name) => lookUp(image, segments, dynamic, name),
  };
}

function readSegments(view: DataView): Segment[] {
  const at = number64(view, 32);
  const size = view.getUint16(54, true);
  return Array.from({ length: view.getUint16(56, true) }, (_, i) => ({
    type: view.getUint32(at + i * size, true),
    flags: view.getUint32(at + i * size + 4, true),
    offset: number64(view, at + i * size + 8),
    address: number64(view, at + i * size + 16),
    fileSize: number64(view, at + i * size + 32),
    memorySize: number64(view, at + i * size + 40),
    alignment: number64(view, at + i * size + 48),
  }));
}

function readDynamic(view: DataView, segments: readonly Segment[]): Map<number, number> {
  const segment = segments.find(({ type }) => type === PT_DYNAMIC)!;
  const entries = new Map<number, number>();
  for (let at = fileOffset(segments, segment.address);; at += 16) {
    const tag = number64(view, at);
    entries.set(tag, number64(view, at + 8));
    if (tag === 0) return entries;
  }
}

function lookUp(
  image: Uint8Array<ArrayBuffer>,
  segments: readonly Segment[],
  dynamic: ReadonlyMap<number, number>,
  name: string,
): Uint8Array | undefined {
  const view = new DataView(image.buffer);
  const [hash, strings, symbols] = [4, 5, 6].map((tag) => fileOffset(segments, dynamic.get(tag)!));
  const buckets = view.getUint32(hash!, true);
  const chains = hash! + 8 + 4 * buckets;
  let index = view.getUint32(hash! + 8 + 4 * (hashOf(name) % buckets), true);
  for (; index !== 0; index = view.getUint32(chains + 4 * index, true)) {
    const symbol = symbols! + index * dynamic.get(11)!;
    if (readString(image, strings! + view.getUint32(symbol, true)) !== name) continue;
    const start = fileOffset(segments, number64(view, symbol + 8));
    return image.subarray(start, start + number64(view, symbol + 16));
  }
}

/** The hash in BigInt, so that it shares no shortcut with the writer. */
function hashOf(name: string): number {
  let hash = 0n;
  for (const byte of new TextEncoder().encode(name)) {
    hash = BigInt.asUintN(32, (hash << 4n) + BigInt(byte));
    const high = hash & 0xf000_0000n;
    hash ^= high >> 24n;
    hash &= ~high;
  }
  return Number(hash);
}

function fileOffset(segments: readonly Segment[], address: number): number {
  const segment = segments.find((s) =>
    s.type === PT_LOAD && address >= s.address && address < s.address + s.fileSize
  );
  if (segment === undefined) throw new RangeError(`Cannot read ${address}: not mapped`);
  return address - segment.address + segment.offset;
}

function readString(image: Uint8Array<ArrayBuffer>, at: number): string {
  return new TextDecoder().decode(image.subarray(at, image.indexOf(0, at)));
}

function number64(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}
