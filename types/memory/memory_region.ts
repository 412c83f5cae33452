/**
 * Memory that a device may read and write.
 *
 * @module
 */

import type { IbvMr } from "../../ffi/handles.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { addressOf, NativeMemory } from "../../ffi/memory.ts";
import { readNative } from "../../ffi/struct.ts";
import { check, checkHandle } from "../core/errors.ts";
import { Grh } from "../address/grh.ts";
import { type Members, members } from "../core/enums.ts";
import type { ProtectionDomain } from "./protection_domain.ts";
import { Resource } from "../core/resource.ts";
import { integer, uint32 } from "../core/checks.ts";

/**
 * What a device may do with memory (`enum ibv_access_flags`), to be combined with `|`; reading for one's own sends is
 * always allowed.
 *
 * - `LOCAL_WRITE`: receive into it
 * - `REMOTE_WRITE`, `REMOTE_READ`, `REMOTE_ATOMIC`: peers' RDMA; writes and atomics need `LOCAL_WRITE` too
 * - `MW_BIND`: memory windows
 * - `ZERO_BASED`: remote addresses count from 0
 * - `ON_DEMAND`: pages need not be there beforehand
 * - `HUGETLB`: of huge pages
 * - `RELAXED_ORDERING`: writes may pass one another
 */
export const AccessFlags: Members<typeof enums.ibv_access_flags, "IBV_ACCESS_"> = members(
  enums.ibv_access_flags,
  "IBV_ACCESS_",
);

/** Memory to register: a length in bytes of new memory, or a buffer of the caller's. */
export type MemorySource = number | ArrayBufferLike | ArrayBufferView;

/** A scatter/gather element (`struct ibv_sge`). */
export interface Sge {
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key of the memory region it lies in. */
  readonly lkey: number;
}

/** A part of a memory region, as a scatter/gather element. Made by {@linkcode MemoryRegion.slice}. */
export class MemorySlice implements Sge {
  /** The region. */
  readonly mr: MemoryRegion;
  /** Where it starts in the region, in bytes. */
  readonly offset: number;
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** The region's key. */
  readonly lkey: number;

  /** Takes a part of a region, as {@linkcode MemoryRegion.slice} does. */
  constructor(mr: MemoryRegion, offset: number, length: number) {
    mr.assertWithin(offset, length);
    this.mr = mr;
    this.offset = offset;
    this.addr = mr.addr + BigInt(offset);
    this.length = length;
    this.lkey = mr.lkey;
  }

  /** The bytes themselves, shared with the device. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.mr.bytes(this.offset, this.length);
  }
}

interface Memory {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  /** There if the region owns the memory. */
  readonly native?: NativeMemory;
}

/** Whether a region's memory is its own, not a caller's buffer. */
export let ownsMemory: (mr: MemoryRegion) => boolean;

/**
 * A memory region (`struct ibv_mr`): memory registered with a device. Made by
 * {@linkcode ProtectionDomain.registerMemory}. Memory of its own is freed when it is disposed; every view of it then has
 * length 0.
 */
export class MemoryRegion extends Resource<IbvMr> {
  /** Its name in messages. */
  protected override readonly kind = "memory region";
  /** Its protection domain. */
  readonly pd: ProtectionDomain;
  /** Address of its first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key for local work requests. */
  readonly lkey: number;
  /** Key for peers' RDMA. */
  readonly rkey: number;
  readonly #memory: Memory;

  static {
    ownsMemory = (mr) => mr.#memory.native !== undefined;
  }

  private constructor(pd: ProtectionDomain, handle: IbvMr, addr: bigint, memory: Memory) {
    super(handle, [pd]);
    const { fields } = structs.ibv_mr;
    this.pd = pd;
    this.addr = addr;
    this.length = memory.byteLength;
    this.lkey = readNative(handle, fields.lkey);
    this.rkey = readNative(handle, fields.rkey);
    this.#memory = memory;
  }

  /** @ignore The way in for {@linkcode ProtectionDomain.registerMemory}. */
  static register(pd: ProtectionDomain, source: MemorySource, access: number): MemoryRegion {
    const parent = pd.unsafeHandle;
    uint32(access, "access");
    const memory = memoryOf(source);
    const addr = addressOf(new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength));
    const handle = verbs().ibv_reg_mr_iova2(parent, addr, BigInt(memory.byteLength), addr, access);
    if (handle === null) memory.native?.free();
    checkHandle("ibv_reg_mr", "register memory", handle, {
      detail: () => `${memory.byteLength} bytes, access ${access}`,
      hint: (code) => hintRegister(code, access),
    });
    return new MemoryRegion(pd, handle!, addr, memory);
  }

  /**
   * A part of the region, for work requests.
   *
   * @param offset Where it starts, in bytes.
   * @param length Its length in bytes; to the region's end if left out.
   * @throws {RangeError} If it is not within the region.
   * @throws {TypeError} If the region is disposed.
   */
  slice(offset: number, length: number = this.length - offset): MemorySlice {
    return new MemorySlice(this, offset, length);
  }

  /**
   * The bytes of a part of the region, shared with the device.
   *
   * @throws {RangeError} If it is not within the region.
   * @throws {TypeError} If the region is disposed.
   */
  bytes(offset: number = 0, length: number = this.length - offset): Uint8Array<ArrayBuffer> {
    this.assertWithin(offset, length);
    const { buffer, byteOffset } = this.#memory;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset + offset, length);
  }

  /**
   * The GRH in a buffer that a UD receive was written to: a copy of its first 40 bytes.
   *
   * @param offset Where the buffer starts in the region.
   * @throws {RangeError} If there are no 40 bytes.
   */
  grhAt(offset: number): Grh {
    return new Grh(this.bytes(offset, Grh.SIZE));
  }

  /**
   * Checks that native code may read the memory now: the region is there, and the caller's buffer still holds it.
   *
   * @throws {TypeError} If not.
   */
  assertReadable(): void {
    this.assertOpen();
    if (this.#memory.byteLength > 0 && this.#memory.buffer.byteLength === 0) {
      throw new TypeError("Cannot use memory region: its buffer was detached");
    }
  }

  /**
   * Checks that a part lies within the region, and that the region is there.
   *
   * @throws {RangeError} If it does not.
   * @throws {TypeError} If the region is disposed, or its buffer detached.
   */
  assertWithin(offset: number, length: number): void {
    this.assertReadable();
    integer(offset, "offset", 0, this.length);
    integer(length, "length", 0, this.length - offset);
  }

  /** Destroys the native object. */
  protected override destroy(handle: IbvMr): void {
    check("ibv_dereg_mr", "deregister memory", verbs().ibv_dereg_mr(handle));
    this.#memory.native?.free();
  }
}

function memoryOf(source: MemorySource): Memory {
  if (typeof source === "number") {
    const native = new NativeMemory(integer(source, "length", 1, Number.MAX_SAFE_INTEGER));
    return { buffer: native.buffer, byteOffset: 0, byteLength: source, native };
  }
  checkBuffer(ArrayBuffer.isView(source) ? source.buffer : source);
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(source)
    ? source
    : new Uint8Array(source);
  if (byteLength === 0) {
    throw new RangeError("Cannot register memory: the buffer is empty");
  }
  return { buffer, byteOffset, byteLength };
}

function checkBuffer(buffer: ArrayBufferLike): void {
  const shared = buffer instanceof SharedArrayBuffer;
  if (!shared && !(buffer instanceof ArrayBuffer)) {
    throw new TypeError("Cannot register memory: the source is neither a length nor a buffer");
  }
  if (!shared && buffer.detached) {
    throw new TypeError("Cannot register memory: the buffer is detached");
  }
  if (shared ? buffer.growable : buffer.resizable) {
    throw new TypeError("Cannot register memory: the buffer is resizable");
  }
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
