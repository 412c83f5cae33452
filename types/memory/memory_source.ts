import { keepInPlace, NativeMemory, pin, unpin } from "../../ffi/native_memory.ts";
import { bufferAddress } from "../../ffi/pointers.ts";
import { keepsBuffers } from "../../ffi/threads.ts";
import { integer } from "../../internal/checks.ts";

/**
 * Memory to register: a length in bytes of new memory, or a buffer of the caller.
 *
 * @category Memory
 */
export type MemorySource = number | ArrayBufferLike | ArrayBufferView;

/** The memory of a region: its own, or a buffer of the caller. */
export class Memory {
  /** The bytes that are registered. Its length is 0 once the memory is gone. */
  readonly bytes: Uint8Array;
  /** The address of the first byte in this process. */
  readonly start: bigint;
  readonly #native: NativeMemory | undefined;

  /** Describes memory, which belongs to the region if it is native. */
  constructor(bytes: Uint8Array, native?: NativeMemory) {
    this.bytes = bytes;
    this.start = bufferAddress(bytes);
    this.#native = native;
  }

  /** Keeps the buffer of a caller while the device may access it. */
  keep(): void {
    if (this.#native === undefined) pin(this);
  }

  /** Frees memory that the device does not access, or ends `Memory.keep`. */
  free(): void {
    if (this.#native === undefined) unpin(this);
    else this.#native.free();
  }
}

/** Buffers of memory that an object frees. Only regions that are made from that object are sure to end before it. */
const owned: WeakSet<ArrayBufferLike> = new WeakSet();

/** Refuses to register a buffer by itself from now on. */
export function takeOver(buffer: ArrayBuffer): void {
  owned.add(buffer);
}

/**
 * Checks the memory that a caller wants to register.
 *
 * @returns A function that provides the memory. It allocates new memory, and runs after all other checks.
 */
export function checkSource(source: MemorySource): () => Memory {
  if (typeof source === "number") {
    integer(source, "length", 1, Number.MAX_SAFE_INTEGER);
    return () => {
      const native = new NativeMemory(source);
      return new Memory(new Uint8Array(native.buffer), native);
    };
  }
  const bytes = bytesOf(source);
  if (!keepsBuffers()) {
    throw new TypeError(
      "Cannot register memory: in a Worker the memory must be the region's own. Use " +
        "new MemoryRegion(pd, length, access): a buffer is freed when the Worker is terminated, and the device may " +
        "still write to it",
    );
  }
  return () => {
    if (bytes.buffer instanceof ArrayBuffer) keepInPlace(bytes.buffer);
    return new Memory(bytes);
  };
}

function bytesOf(source: ArrayBufferLike | ArrayBufferView): Uint8Array {
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(source)
    ? source
    : { buffer: source, byteOffset: 0, byteLength: undefined };
  let view: DataView;
  try {
    // Unlike Uint8Array, it takes nothing but a buffer.
    view = new DataView(buffer as ArrayBuffer, byteOffset, byteLength);
  } catch {
    throw new TypeError(
      "Cannot register memory: the source is neither a length nor a buffer that is attached",
    );
  }
  if (owned.has(view.buffer)) {
    throw new TypeError(
      "Cannot register memory: the buffer is of an AllocatedBuffer. Use new AllocatedBufferRegion(...)",
    );
  }
  if ((buffer as ArrayBuffer).resizable || (buffer as SharedArrayBuffer).growable) {
    throw new TypeError("Cannot register memory: the buffer is resizable");
  }
  if (view.byteLength === 0) throw new RangeError("Cannot register memory: the buffer is empty");
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
