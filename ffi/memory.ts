import { libc } from "./libc.ts";

// sys/mman.h, alike on both architectures
const PROT_READ_WRITE = 0x3;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/** Native memory that the garbage collector does not know of, page-aligned and zeroed. */
export class NativeMemory {
  readonly #pointer: Deno.PointerObject;
  readonly #length: bigint;
  /** The memory; detached once freed, so that late access throws instead of touching what is no longer ours. */
  readonly buffer: ArrayBuffer;

  /** Maps `length` bytes; pages are taken when they are first used. */
  constructor(length: number) {
    this.#length = BigInt(length);
    const pointer = libc().mmap(
      null,
      this.#length,
      PROT_READ_WRITE,
      MAP_PRIVATE_ANONYMOUS,
      -1,
      0n,
    );
    if (Deno.UnsafePointer.value(pointer) === MAP_FAILED) {
      throw new RangeError(`Cannot allocate ${length} bytes: there is not so much memory`);
    }
    this.#pointer = pointer!;
    this.buffer = Deno.UnsafePointerView.getArrayBuffer(this.#pointer, length);
  }

  /** Detaches the buffer and frees the memory; memory that was transferred elsewhere is left to its new owner. */
  free(): void {
    if (this.buffer.detached) return;
    this.buffer.transfer(0);
    libc().munmap(this.#pointer, this.#length);
  }
}

/** The address of a buffer's first byte. It stays put as long as the buffer is neither detached nor collected. */
export function addressOf(source: ArrayBufferView | ArrayBufferLike): bigint {
  const view = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(view as Uint8Array<ArrayBuffer>));
}
