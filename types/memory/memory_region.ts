/**
 * Memory regions and parts of them.
 *
 * @module
 */

import type { IbvMr } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { pin, unpin } from "../../ffi/native_memory.ts";
import { bufferAddress, handleAddress } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import { Grh } from "../address/grh.ts";
import { instance, integer, show, uint32 } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { check, checkHandle } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen } from "../core/resource.ts";
import { AccessFlags } from "./access_flags.ts";
import { checkSource, type Memory, type MemorySource } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";

/** A scatter/gather element (`struct ibv_sge`). */
export interface Sge {
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key of the memory region that the bytes lie in. */
  readonly lkey: number;
}

/**
 * Checks that native code may read a region's memory now.
 *
 * @throws {TypeError} If the region is disposed, or its buffer is detached.
 */
export let assertReadable: (mr: MemoryRegion) => void;

/**
 * Checks that a part lies within a region.
 *
 * @throws {RangeError} If it does not.
 * @throws {TypeError} If the region is disposed, or its buffer is detached.
 */
export let assertWithin: (mr: MemoryRegion, offset: number, length: number) => void;

/** Whether a region's memory is its own. The buffer of a caller may be detached at any time. */
export let ownsMemory: (mr: MemoryRegion) => boolean;

/** The bytes of a region, shared with the device. Access throws when the region is disposed. */
export let viewOfRegion: (mr: MemoryRegion) => DataView;

/**
 * A memory region (`struct ibv_mr`): memory that is registered with a device, which may then read and write it.
 *
 * The region registers new memory, or a buffer of the caller's:
 *
 * - New memory belongs to the region. It is zeroed, starts on a page, and is freed when the region is disposed: every
 *   view of it then has length 0.
 * - A buffer of the caller's must stay in place until the region is disposed: do not transfer it, and do not register the
 *   memory of a `WebAssembly.Memory` that may grow. The buffer is kept alive until the memory is deregistered, even if
 *   the region and everything it was made from is forgotten. In a Worker such buffers are refused, because all buffers of
 *   a Worker are freed when it is terminated, while the device may still write to them.
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
 */
export class MemoryRegion extends NativeResource<IbvMr> {
  static readonly #KIND: NativeKind<IbvMr, MemoryRegion> = {
    name: "memory region",
    destroy: (handle, mr) => {
      check("ibv_dereg_mr", "deregister memory", verbs().ibv_dereg_mr(handle));
      unpin(handleAddress(handle));
      mr.#memory.native?.free();
    },
    describe: ({ length, lkey, rkey }) => ({ length, lkey, rkey }),
  };

  /** The protection domain of the region. */
  readonly pd: ProtectionDomain;
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key for local work requests. */
  readonly lkey: number;
  /** Key for the RDMA of peers. */
  readonly rkey: number;
  readonly #memory: Memory;
  readonly #view: DataView;

  static {
    assertReadable = (mr) => mr.#assertReadable();
    assertWithin = (mr, offset, length) => mr.#assertWithin(offset, length);
    ownsMemory = (mr) => mr.#memory.native !== undefined;
    viewOfRegion = (mr) => mr.#view;
  }

  /**
   * Registers memory (`ibv_reg_mr`).
   *
   * @param pd The protection domain.
   * @param source A length in bytes, or the buffer.
   * @param access {@linkcode AccessFlags}, combined with `|`. 0 is enough to send from the memory.
   * @throws {RangeError} If there is no byte to register, or the system cannot provide so much memory.
   * @throws {TypeError} If the protection domain is disposed; if the buffer is detached or resizable; in a Worker, if the
   * source is a buffer.
   * @throws {VerbsError} If the device refuses. ENOMEM mostly means the limit on locked memory.
   */
  constructor(pd: ProtectionDomain, source: MemorySource, access: number) {
    instance(pd, ProtectionDomain, "pd");
    const provide = checkSource(source);
    uint32(access, "access");
    const { handle, addr, memory } = register(pd, provide, access);
    super(MemoryRegion.#KIND, handle, [pd]);
    const { fields } = structs.ibv_mr;
    const { buffer, byteOffset, byteLength } = memory.bytes;
    this.pd = pd;
    this.addr = addr;
    this.length = byteLength;
    this.lkey = readNative(handle, fields.lkey);
    this.rkey = readNative(handle, fields.rkey);
    this.#memory = memory;
    this.#view = new DataView(buffer, byteOffset, byteLength);
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
   * @throws {TypeError} If the region is disposed.
   */
  bytes(offset: number = 0, length: number = this.length - offset): Uint8Array<ArrayBuffer> {
    this.#assertWithin(offset, length);
    const { buffer, byteOffset } = this.#memory.bytes;
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

  #assertReadable(): void {
    assertOpen(this);
    if (this.#memory.bytes.length === 0) {
      throw new TypeError("Cannot use memory region: its buffer is detached");
    }
  }

  #assertWithin(offset: number, length: number): void {
    this.#assertReadable();
    integer(offset, "offset", 0, this.length);
    integer(length, "length", 0, this.length - offset);
  }
}

/** A part of a memory region, as a scatter/gather element. {@linkcode MemoryRegion.slice} makes it. */
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
    assertWithin(instance(mr, MemoryRegion, "mr"), offset, length);
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

interface Registration {
  readonly handle: IbvMr;
  readonly addr: bigint;
  readonly memory: Memory;
}

function register(pd: ProtectionDomain, provide: () => Memory, access: number): Registration {
  const parent = pd.unsafeHandle;
  const memory = provide();
  const { bytes, native } = memory;
  const { length } = bytes;
  const addr = bufferAddress(bytes);
  const handle = verbs().ibv_reg_mr_iova2(parent, addr, BigInt(length), addr, access);
  if (handle === null) native?.free();
  const registered = checkHandle("ibv_reg_mr", "register memory", handle, {
    detail: () => `${length} bytes, access ${namesOf(AccessFlags, access)}`,
    hint: (code) => hintRegister(code, access),
  });
  if (native === undefined) pin(handleAddress(registered), bytes);
  return { handle: registered, addr, memory };
}

function hintRegister(code: string, access: number): string | undefined {
  const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC } = AccessFlags;
  if (code === "EINVAL" && access & (REMOTE_WRITE | REMOTE_ATOMIC) && !(access & LOCAL_WRITE)) {
    return "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well";
  }
  if (code === "ENOMEM" || code === "EAGAIN") {
    return 'The limit on locked memory is likely too small: "ulimit -l" shows it';
  }
}
