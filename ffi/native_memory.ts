import { constants } from "./layout.ts";
import { libc } from "./libc.ts";
import { bufferAddress } from "./pointers.ts";

/** Buffers whose memory stays where it is until a device has no more use for it. */
const inPlace: WeakSet<ArrayBuffer> = new WeakSet();

/**
 * Native memory, page-aligned and zeroed. The garbage collector does not free it, and neither does the end of a Worker:
 * only `NativeMemory.free` does.
 */
export class NativeMemory {
  readonly #pointer: Deno.PointerObject;
  readonly #length: bigint;
  /** The memory. It is detached when the memory is freed, so that later access throws. */
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
      constants.PROT_READ | constants.PROT_WRITE,
      constants.MAP_PRIVATE | constants.MAP_ANONYMOUS,
      -1,
      0n,
    );
    if (Deno.UnsafePointer.value(pointer) === constants.MAP_FAILED) {
      throw new RangeError(`Cannot allocate ${length} bytes: there is not enough memory`);
    }
    this.#pointer = pointer!;
    this.buffer = Deno.UnsafePointerView.getArrayBuffer(this.#pointer, length);
    inPlace.add(this.buffer);
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

/** Releases what `pin` keeps. */
export function unpin(registration: object): void {
  pinned.delete(registration);
}

/** Locks a buffer: later attempts to transfer it fail, as `keepInPlace` says. */
type Lock = (buffer: ArrayBuffer) => void;
let lock: Lock | undefined;

/**
 * Keeps a buffer where it is: nothing hands its memory to a buffer that may be collected while a device still writes to
 * it. V8 cannot undo this.
 *
 * `transfer()` and `transferToFixedLength()` throw from now on. `structuredClone()` and `postMessage()` throw since
 * Deno 2.9.4. Earlier versions leave the buffer as it is and return another one that shares its memory, which V8 frees
 * when both are collected. So a pinned buffer keeps its memory in every version, whatever happens to the other one.
 *
 * @throws {TypeError} If the buffer cannot be kept in place.
 */
export function keepInPlace(buffer: ArrayBuffer): void {
  if (inPlace.has(buffer)) return;
  if (isOfWebAssembly(buffer)) {
    throw new TypeError(
      "Cannot register memory: the buffer belongs to a WebAssembly.Memory, which may move or free it. " +
        "Use a shared WebAssembly.Memory, or new MemoryRegion(pd, length, access)",
    );
  }
  if (!isLockedBy(lock ??= findLock(), buffer)) throw cannotKeep();
  inPlace.add(buffer);
}

const { transfer } = ArrayBuffer.prototype;

/** Found on first use: Deno sets up its modules for Node then, which costs as much as starting does. */
function findLock(): Lock {
  const { process } = globalThis as unknown as {
    process?: { getBuiltinModule(name: string): { markAsUntransferable?: Lock } };
  };
  const found = process?.getBuiltinModule("node:worker_threads").markAsUntransferable;
  if (found !== undefined && isLockedBy(found, new ArrayBuffer(8))) return found;
  throw cannotKeep();
}

function cannotKeep(): TypeError {
  return new TypeError(
    "Cannot register memory: this version of Deno cannot keep a buffer in place. " +
      "Use a SharedArrayBuffer, or new MemoryRegion(pd, length, access)",
  );
}

/** Locks a buffer, and tries to transfer it. */
function isLockedBy(lock: Lock, buffer: ArrayBuffer): boolean {
  try {
    lock(buffer);
  } catch {
    // Deno locks a frozen buffer, and then cannot write its mark on it.
  }
  try {
    transfer.call(buffer);
    return false;
  } catch {
    return true;
  }
}

/** The size of a page of memory, and of a page of WebAssembly. */
const PAGE = 4096n;
const WASM_PAGE = 65536;

/**
 * Whether a buffer is the memory of a `WebAssembly.Memory`. It cannot be transferred, but growing detaches it, and that
 * ends the process if the buffer is locked.
 */
function isOfWebAssembly(buffer: ArrayBuffer): boolean {
  // Other buffers rarely start on a page. For them the attempt takes 0.1 s, because V8 collects garbage before it gives up.
  const bytes = new Uint8Array(buffer);
  if (bytes.length % WASM_PAGE !== 0 || bufferAddress(bytes) % PAGE !== 0n) return false;
  try {
    transfer.call(buffer, Number.MAX_SAFE_INTEGER);
  } catch (error) {
    return error instanceof TypeError;
  }
  return false;
}
