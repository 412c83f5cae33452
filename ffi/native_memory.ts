/**
 * Memory that a device may write: memory of the library's own, and buffers of the caller that are kept alive.
 *
 * @module
 */

import { libc } from "./libc.ts";

// sys/mman.h, alike on both architectures
const PROT_READ_WRITE = 0x3;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/**
 * Native memory, page-aligned and zeroed. The garbage collector does not free it, and neither does the end of a Worker:
 * only {@linkcode NativeMemory.free} does.
 */
export class NativeMemory {
  readonly #pointer: Deno.PointerObject;
  readonly #length: bigint;
  /** The memory. It is detached when the memory is freed, so that late access throws. */
  readonly buffer: ArrayBuffer;

  /**
   * Maps `length` bytes. The system provides each page when it is first used.
   *
   * @throws {RangeError} If the system refuses.
   */
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

  /** Detaches the buffer and frees the memory. Memory whose buffer was transferred belongs to its new owner. */
  free(): void {
    if (this.buffer.detached) return;
    this.buffer.transfer(0);
    libc().munmap(this.#pointer, this.#length);
  }
}

/** At module level: a buffer stays reachable although every object that leads to it is collected. */
const pinned: Set<object> = new Set();

/**
 * Keeps an object and its buffer alive while a device may write to the buffer. Each registration needs an object of its
 * own: several may be of the same buffer.
 */
export function pin(registration: object): void {
  pinned.add(registration);
}

/** Releases what {@linkcode pin} keeps. */
export function unpin(registration: object): void {
  pinned.delete(registration);
}

/**
 * Whether this code runs in a Worker. When a Worker is terminated its buffers are freed, pinned or not, while the
 * registrations of its memory live on.
 */
export function inWorker(): boolean {
  return "WorkerGlobalScope" in globalThis;
}
