import { inWorker, keepInPlace, NativeMemory } from "../../ffi/native_memory.ts";
import { bufferAddress } from "../../ffi/pointers.ts";
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
  /** The address of the first byte in this process. */
  readonly start: bigint;
  /** The memory, if it belongs to the region. */
  readonly native?: NativeMemory;
}

type Getter<T> = (this: unknown) => T;

/** The getter of a property of a built-in class. It throws, or gives undefined, for a value of another class. */
function getter<T>(prototype: object, name: PropertyKey): Getter<T> {
  return Object.getOwnPropertyDescriptor(prototype, name)!.get as Getter<T>;
}

/** The getters of a class of views. */
interface ViewGetters {
  readonly buffer: Getter<ArrayBufferLike>;
  readonly byteOffset: Getter<number>;
  readonly byteLength: Getter<number>;
}

function gettersOf(prototype: object): ViewGetters {
  return {
    buffer: getter<ArrayBufferLike>(prototype, "buffer"),
    byteOffset: getter<number>(prototype, "byteOffset"),
    byteLength: getter<number>(prototype, "byteLength"),
  };
}

/** The prototype that all typed arrays share. */
const TYPED_ARRAY: object = Object.getPrototypeOf(Uint8Array.prototype);
const ofTypedArray = gettersOf(TYPED_ARRAY);
const ofDataView = gettersOf(DataView.prototype);
const tagOf = getter<string | undefined>(TYPED_ARRAY, Symbol.toStringTag);
const lengthOf = getter<number>(ArrayBuffer.prototype, "byteLength");
const isResizable = getter<boolean>(ArrayBuffer.prototype, "resizable");
const isDetached = getter<boolean>(ArrayBuffer.prototype, "detached");
const sharedLengthOf = getter<number>(SharedArrayBuffer.prototype, "byteLength");
const isGrowable = getter<boolean>(SharedArrayBuffer.prototype, "growable");

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
      return memoryOf(new Uint8Array(native.buffer), native);
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
  return () => {
    if (answers(lengthOf, bytes.buffer)) keepInPlace(bytes.buffer as ArrayBuffer);
    return memoryOf(bytes);
  };
}

function memoryOf(bytes: Uint8Array, native?: NativeMemory): Memory {
  const start = bufferAddress(bytes);
  return native === undefined ? { bytes, start } : { bytes, start, native };
}

function bytesOf(source: ArrayBufferLike | ArrayBufferView): Uint8Array {
  const bytes = ArrayBuffer.isView(source)
    ? bytesOfView(source)
    : new Uint8Array(checkBuffer(source));
  if (bytes.length === 0) throw new RangeError("Cannot register memory: the buffer is empty");
  return bytes;
}

function bytesOfView(view: ArrayBufferView): Uint8Array {
  const of = tagOf.call(view) === undefined ? ofDataView : ofTypedArray;
  const buffer = checkBuffer(of.buffer.call(view));
  return new Uint8Array(buffer, of.byteOffset.call(view), of.byteLength.call(view));
}

function checkBuffer(buffer: unknown): ArrayBufferLike {
  // A plain buffer is asked first: the error that tells that a value is of another class costs 5 us.
  const plain = answers(lengthOf, buffer);
  if (!plain && !answers(sharedLengthOf, buffer)) {
    throw new TypeError("Cannot register memory: the source is neither a length nor a buffer");
  }
  if (plain && isDetached.call(buffer)) {
    throw new TypeError("Cannot register memory: the buffer is detached");
  }
  if ((plain ? isResizable : isGrowable).call(buffer)) {
    throw new TypeError("Cannot register memory: the buffer is resizable");
  }
  return buffer as ArrayBufferLike;
}

/** Whether a value is of the class of a getter. */
function answers(get: Getter<unknown>, value: unknown): boolean {
  try {
    get.call(value);
    return true;
  } catch {
    return false;
  }
}
