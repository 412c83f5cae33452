import { inWorker, NativeMemory } from "../../ffi/native_memory.ts";
import { integer } from "../core/checks.ts";

/**
 * Memory to register: a length in bytes of new memory, or a buffer of the caller's.
 *
 * @category Memory
 */
export type MemorySource = number | ArrayBufferLike | ArrayBufferView;

/** The memory of a region. */
export interface Memory {
  /** The bytes that are registered. Its length is 0 once the memory is gone. */
  readonly bytes: Uint8Array;
  /** The memory, if it belongs to the region. */
  readonly native?: NativeMemory;
}

/** The prototype that all typed arrays share. */
const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);

/**
 * Checks the memory that a caller wants to register. No code of the caller runs: overrides of a buffer's properties are
 * not seen.
 *
 * @returns A function that provides the memory. It allocates new memory, and runs after all other checks.
 */
export function checkSource(source: MemorySource): () => Memory {
  if (typeof source === "number") {
    integer(source, "length", 1, Number.MAX_SAFE_INTEGER);
    return () => {
      const native = new NativeMemory(source);
      return { bytes: new Uint8Array(native.buffer), native };
    };
  }
  const bytes = bytesOf(source);
  if (inWorker()) {
    throw new TypeError(
      "Cannot register memory: in a Worker the memory must be the region's own. Use " +
        "new MemoryRegion(pd, length, access): a buffer is freed when the Worker is terminated, and the device may " +
        "still write to it",
    );
  }
  return () => ({ bytes });
}

function bytesOf(source: ArrayBufferLike | ArrayBufferView): Uint8Array {
  const bytes = ArrayBuffer.isView(source) ? bytesOfView(source) : bytesOfBuffer(source);
  if (bytes.length === 0) throw new RangeError("Cannot register memory: the buffer is empty");
  return bytes;
}

function bytesOfView(view: ArrayBufferView): Uint8Array {
  const isDataView = accessor(TYPED_ARRAY, Symbol.toStringTag, view) === undefined;
  const prototype = isDataView ? DataView.prototype : TYPED_ARRAY;
  const { buffer } = bytesOfBuffer(accessor(prototype, "buffer", view));
  const [offset, length] = ["byteOffset", "byteLength"].map((name) =>
    accessor(prototype, name, view) as number
  );
  return new Uint8Array(buffer, offset, length);
}

function bytesOfBuffer(buffer: unknown): Uint8Array {
  // A plain buffer is asked first: the error that tells that a value is of another class costs 5 us.
  const plain = accessor(ArrayBuffer.prototype, "byteLength", buffer) !== undefined;
  if (!plain && accessor(SharedArrayBuffer.prototype, "byteLength", buffer) === undefined) {
    throw new TypeError("Cannot register memory: the source is neither a length nor a buffer");
  }
  if (plain && accessor(ArrayBuffer.prototype, "detached", buffer)) {
    throw new TypeError("Cannot register memory: the buffer is detached");
  }
  const resizable = plain
    ? accessor(ArrayBuffer.prototype, "resizable", buffer)
    : accessor(SharedArrayBuffer.prototype, "growable", buffer);
  if (resizable) throw new TypeError("Cannot register memory: the buffer is resizable");
  return new Uint8Array(buffer as ArrayBufferLike);
}

/** Reads a property of a built-in class. The result is undefined if the value is of another class. */
function accessor(prototype: object, name: PropertyKey, value: unknown): unknown {
  try {
    return Reflect.get(prototype, name, value);
  } catch {
    return undefined;
  }
}
