/**
 * Memory regions and parts of them.
 *
 * @module
 */

import type { IbvMr } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { readNative } from "../../ffi/struct.ts";
import { Grh } from "../address/grh.ts";
import type { AbortOptions } from "../core/abortable.ts";
import { instance, integer } from "../core/checks.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen } from "../core/resource.ts";
import type { Memory, MemorySource } from "./memory_source.ts";
import type { ProtectionDomain } from "./protection_domain.ts";
import {
  deregister,
  freeMemory,
  register,
  registerAsync,
  Registration,
  type RegMrOptions,
} from "./reg_mr.ts";

/**
 * A scatter/gather element (`struct ibv_sge`).
 *
 * @category Memory
 */
export interface Sge {
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key of the memory region that the bytes lie in. */
  readonly lkey: number;
}

/**
 * Checks that native code may read a region's memory at the addresses of its slices. Returns the address of its first
 * byte, whatever properties the caller gave the region.
 *
 * @throws {TypeError} If the region is disposed, its buffer is detached, or its addresses are not of this process.
 */
export let assertReadable: (mr: MemoryRegion) => bigint;

/** Whether a value is a memory region that is open. Only regions have the private field, so V8 reads it in 2 ns. */
export let isOpenMr: (mr: MemoryRegion) => boolean;

/**
 * Checks that a part lies within a region.
 *
 * @throws {RangeError} If it does not.
 * @throws {TypeError} If the region is disposed, or its buffer is detached.
 */
export let assertWithin: (mr: MemoryRegion, offset: number, length: number) => void;

/**
 * The bytes of a region, shared with the device. Access throws when the region is disposed.
 *
 * @throws {TypeError} If this process cannot access the memory.
 */
export let viewOfRegion: (mr: MemoryRegion) => DataView;

/** The memory of a region, if this process can access it. */
export let memoryOf: (mr: MemoryRegion) => Memory | undefined;

/** Makes a region keep more memory until it is deregistered. */
export let addMemory: (mr: MemoryRegion, memory: Memory) => void;

/** Leaves the native region and its memory to another object. The next step is to close the region. */
export let handOver: (mr: MemoryRegion) => void;

/**
 * A memory region (`struct ibv_mr`): memory that is registered with a device, which may then read and write it.
 * Requests name a part of a region: {@linkcode MemoryRegion.prototype.slice | MemoryRegion.slice}. The program reads
 * and writes the same bytes: {@linkcode MemoryRegion.prototype.bytes | MemoryRegion.bytes}.
 *
 * The rights decide what the device does with the memory. To send from it, 0 is enough. To receive into it, it needs
 * {@linkcode AccessFlags}.LOCAL_WRITE. For a peer that writes or reads it by RDMA, it also needs REMOTE_WRITE or
 * REMOTE_READ, and the peer needs `addr` and `rkey`.
 *
 * The region registers new memory, or a buffer of the caller's:
 *
 * - New memory belongs to the region. It is zeroed, starts on a page, and is freed when the region is disposed: every
 *   view of it then has length 0.
 * - A buffer of the caller's is kept alive until the memory is deregistered, even if the region and everything it was
 *   made from is forgotten. It cannot be transferred any more, even after the region is disposed: `transfer()`,
 *   `structuredClone()` and `postMessage()` throw. A `SharedArrayBuffer` can be sent to other threads. The memory of a
 *   `WebAssembly.Memory` is refused, unless it is shared. In a Worker all such buffers are refused, because the buffers
 *   of a Worker are freed when it is terminated, while the device may still write to them.
 *
 * @example Memory to receive into
 * ```ts
 * import { AccessFlags, Context, MemoryRegion, ProtectionDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using mr = new MemoryRegion(pd, 64 * 1024, AccessFlags.LOCAL_WRITE);
 * const bytes = mr.bytes(0, 1024); // shared with the device
 * ```
 *
 * @example Memory that a peer may write to
 * ```ts
 * import { AccessFlags, MemoryRegion, type ProtectionDomain } from "@rdma/ibverbs";
 *
 * function share(pd: ProtectionDomain): string {
 *   const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE);
 *   return JSON.stringify({ remoteAddr: String(mr.addr), rkey: mr.rkey }); // what the peer needs
 * }
 * ```
 *
 * @category Memory
 */
export class MemoryRegion extends NativeResource<IbvMr> {
  static readonly #KIND: NativeKind<IbvMr, MemoryRegion> = {
    name: "memory region",
    closing: (mr) => {
      mr.#isOpen = false;
    },
    destroy: (handle, mr) => mr.#free(handle),
    describe: ({ length, lkey, rkey }) => ({ length, lkey, rkey }),
  };

  /** The protection domain of the region. */
  readonly pd: ProtectionDomain;
  /**
   * Address of the first byte in work requests and for peers: its address in this process, unless another one was chosen.
   */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key for local work requests. */
  readonly lkey: number;
  /** Key for the RDMA of peers. */
  readonly rkey: number;
  #isOpen = true;
  readonly #view: DataView | undefined;
  /** The address of the first byte, if the addresses of slices are those of this process. */
  readonly #start: bigint | undefined;
  /** The memory that is registered. More is kept after an attempt to register other memory went wrong. */
  readonly #memories: Memory[];
  /** It is undefined if another object destroys the native region. */
  #destroy: ((handle: IbvMr) => void) | undefined;

  static {
    assertReadable = (mr) => mr.#assertReadable();
    isOpenMr = (mr) => {
      try {
        return mr.#isOpen;
      } catch {
        // It has no such field: it is no memory region.
        return false;
      }
    };
    assertWithin = (mr, offset, length) => mr.#assertWithin(offset, length);
    viewOfRegion = (mr) => mr.#view ?? mr.#noAccess();
    memoryOf = (mr) => mr.#memories[0];
    addMemory = (mr, memory) => void mr.#memories.push(memory);
    handOver = (mr) => {
      mr.#destroy = undefined;
      mr.#memories.length = 0;
    };
  }

  /**
   * Registers memory (`ibv_reg_mr`, or `ibv_reg_mr_iova` if an address is chosen). It locks the memory, which takes time
   * if there is much of it: {@linkcode MemoryRegion.create} does it on another thread.
   *
   * @param pd The protection domain.
   * @param source A length in bytes, or the buffer.
   * @param access {@linkcode AccessFlags}, combined with `|`. 0 is enough to send from the memory.
   * @param options The address, if another one than that of the memory is wanted.
   * @throws {RangeError} If there is no byte to register, or the system cannot provide so much memory.
   * @throws {TypeError} If the protection domain is disposed; if the buffer is detached, resizable or that of a
   * `WebAssembly.Memory`; in a Worker, if the source is a buffer.
   * @throws {VerbsError} If the device refuses. ENOMEM mostly means the limit on locked memory.
   */
  constructor(pd: ProtectionDomain, source: MemorySource, access: number, options?: RegMrOptions);
  /** @ignore Adopts a native region. */
  constructor(pd: ProtectionDomain, source: Registration);
  /** @ignore */
  constructor(
    pd: ProtectionDomain,
    source: MemorySource | Registration,
    access?: number,
    options?: RegMrOptions,
  ) {
    const { registered } = source instanceof Registration
      ? source
      : register(pd, source, access!, options);
    const { handle, addr, length, memory, parents = [], destroy = deregister } = registered;
    super(MemoryRegion.#KIND, handle, [pd, ...parents]);
    const { fields } = structs.ibv_mr;
    this.pd = pd;
    this.addr = addr;
    this.length = length;
    this.lkey = readNative(handle, fields.lkey);
    this.rkey = readNative(handle, fields.rkey);
    this.#memories = memory === undefined ? [] : [memory];
    this.#view = memory && viewOfBytes(memory.bytes);
    this.#start = memory?.start === addr ? addr : undefined;
    this.#destroy = destroy;
  }

  /** The handle of an object of this class. Called on an object of another class, a method stops here. */
  get #handle(): IbvMr {
    return this.unsafeHandle;
  }

  /**
   * Registers memory on another thread: {@linkcode MemoryRegion} without blocking. If the signal aborts, the call rejects
   * with the signal's reason, and memory that is registered afterwards is deregistered again.
   *
   * @param pd The protection domain.
   * @param source A length in bytes, or the buffer.
   * @param access {@linkcode AccessFlags}, combined with `|`. 0 is enough to send from the memory.
   * @param options As the constructor; and the signal that ends the wait.
   * @throws {RangeError} As the constructor.
   * @throws {TypeError} As the constructor, or if the protection domain is disposed in the meantime.
   * @throws {VerbsError} As the constructor.
   */
  static async create(
    pd: ProtectionDomain,
    source: MemorySource,
    access: number,
    options: RegMrOptions & AbortOptions = {},
  ): Promise<MemoryRegion> {
    const adopt = (registration: Registration): MemoryRegion => new MemoryRegion(pd, registration);
    return await registerAsync(pd, source, access, options, adopt);
  }

  /** The number of the region in the kernel. Another process that shares the device can import the region by it. */
  get handle(): number {
    return readNative(this.#handle, structs.ibv_mr.fields.handle);
  }

  /**
   * A part of the region, for work requests.
   *
   * @param offset Where the part starts, in bytes.
   * @param length Its length in bytes. If it is left out, the part extends to the region's end.
   * @throws {RangeError} If the part is not within the region.
   * @throws {TypeError} If the region is disposed.
   */
  slice(offset: number, length: number = this.length - offset): MemorySlice {
    return new MemorySlice(this, offset, length);
  }

  /**
   * The bytes of a part of the region, shared with the device.
   *
   * @param offset Where the part starts, in bytes.
   * @param length Its length in bytes. If it is left out, the part extends to the region's end.
   * @throws {RangeError} If the part is not within the region.
   * @throws {TypeError} If the region is disposed, or this process cannot access its memory.
   */
  bytes(offset: number = 0, length: number = this.length - offset): Uint8Array<ArrayBuffer> {
    this.#assertWithin(offset, length);
    const { buffer, byteOffset } = this.#view ?? this.#noAccess();
    return new Uint8Array(buffer as ArrayBuffer, byteOffset + offset, length);
  }

  /**
   * The GRH in a buffer that a UD receive was written to: a copy of the buffer's first 40 bytes.
   *
   * @param offset Where the buffer starts in the region, in bytes.
   * @throws {RangeError} If the region has no 40 bytes there.
   * @throws {TypeError} If the region is disposed.
   */
  grhAt(offset: number): Grh {
    return new Grh(this.bytes(offset, Grh.SIZE));
  }

  #assertAttached(): void {
    if (!this.#isOpen) assertOpen(this);
    if (this.#memories[0]?.bytes.length === 0) {
      throw new TypeError("Cannot use memory region: its buffer is detached");
    }
  }

  #assertReadable(): bigint {
    this.#assertAttached();
    if (this.#start === undefined) {
      throw new TypeError("Cannot read memory region: its addresses are not those of this process");
    }
    return this.#start;
  }

  #assertWithin(offset: number, length: number): void {
    this.#assertAttached();
    integer(offset, "offset", 0, this.length);
    integer(length, "length", 0, this.length - offset);
  }

  #noAccess(): never {
    throw new TypeError("Cannot access memory region: its memory is not of this process");
  }

  #free(handle: IbvMr): void {
    this.#destroy?.(handle);
    for (const memory of this.#memories) freeMemory(memory);
  }
}

function viewOfBytes({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/**
 * A part of a memory region, as a scatter/gather element. {@linkcode MemoryRegion.prototype.slice | MemoryRegion.slice}
 * makes it.
 *
 * @category Memory
 */
export class MemorySlice implements Sge {
  /** The region. */
  readonly mr: MemoryRegion;
  /** Where the part starts in the region, in bytes. */
  readonly offset: number;
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** The region's key for local work requests. */
  readonly lkey: number;

  /**
   * Takes a part of a region, as {@linkcode MemoryRegion.slice} does.
   *
   * @throws {RangeError} If the part is not within the region.
   * @throws {TypeError} If the region is disposed.
   */
  constructor(mr: MemoryRegion, offset: number, length: number) {
    // V8 compiles a test against a class that it knows; the general one takes 50 ns.
    if (!(mr instanceof MemoryRegion)) instance(mr, MemoryRegion, "mr");
    assertWithin(mr, offset, length);
    this.mr = mr;
    this.offset = offset;
    this.addr = mr.addr + BigInt(offset);
    this.length = length;
    this.lkey = mr.lkey;
  }

  /**
   * The bytes of the part, shared with the device.
   *
   * @throws {TypeError} If the region is disposed.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.mr.bytes(this.offset, this.length);
  }

  /** Offset, length and key on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return `MemorySlice { offset: ${this.offset}, length: ${this.length}, lkey: ${this.lkey} }`;
  }
}
