import { errno } from "../../ffi/errno.ts";
import type { IbvBuf } from "../../ffi/handles.ts";
import { verbs } from "../../ffi/library.ts";
import { handleAt, nativeView } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { call, failure } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen } from "../core/resource.ts";
import { countsOf } from "../device/counts.ts";
import { adopting, MemoryRegion } from "./memory_region.ts";
import { Memory, takeOver } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { AccessFlags, accessOf, REGISTER_CAUSES } from "./reg_mr.ts";

export const EXPORT_CAUSES: Causes = [["ENODATA", "The memory of the buffer is no DMA buffer"]];

/**
 * Memory that the provider allocates (`ibv_alloc_buf`, since rdma-core 64): for instance shared memory of a
 * confidential guest, or a DMA buffer. It is zeroed and starts on a page. An `AllocatedBufferRegion` registers it; a
 * `MemoryRegion` of its bytes is refused, because the buffer could be freed before the region.
 *
 * @category Memory
 */
export class AllocatedBuffer extends NativeResource<IbvBuf> {
  static readonly #KIND: NativeKind<IbvBuf, AllocatedBuffer> = {
    name: "allocated buffer",
    destroy: (handle, buffer) => buffer.#free(handle),
    describe: ({ length }) => ({ length }),
  };

  /** The protection domain, or the parent domain, that the buffer and its regions belong to. */
  readonly pd: ProtectionDomain;
  /** Address of the first byte. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  readonly #memory: ArrayBuffer;

  /**
   * Allocates a buffer.
   *
   * @param length The length in bytes.
   * @throws {RangeError} If the length is not positive.
   * @throws {VerbsError} If there is not enough memory (ENOMEM), or libibverbs is too old (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, length: number) {
    instance(pd, ProtectionDomain, "pd");
    integer(length, "length", 1, Number.MAX_SAFE_INTEGER);
    const handle = new BigUint64Array(1);
    const addr = verbs().ibv_alloc_buf(pd.unsafeHandle, BigInt(length), handle);
    if (addr === 0n) {
      throw failure("ibv_alloc_buf", "allocate buffer", errno(), {
        detail: () => `${length} bytes`,
      });
    }
    super(AllocatedBuffer.#KIND, handleAt<IbvBuf>(handle[0]!)!, [pd]);
    this.pd = pd;
    this.addr = addr;
    this.length = length;
    this.#memory = nativeView(handleAt(addr)!, length).buffer;
    takeOver(this.#memory);
    // The C library may return memory that was used before.
    this.bytes.fill(0);
  }

  /**
   * The bytes of the buffer, shared with the device. They have length 0 once the buffer is disposed.
   *
   * @throws {TypeError} If the buffer is disposed, or its memory is detached.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    assertOpen(this);
    if (this.#memory.detached) {
      throw new TypeError("Cannot access allocated buffer: its memory is detached");
    }
    return new Uint8Array(this.#memory);
  }

  /**
   * A new file descriptor of the DMA buffer behind the memory (`ibv_export_buf_dmabuf_fd`, since rdma-core 65). The caller
   * closes it.
   *
   * @throws {VerbsError} ENODATA if the memory is no DMA buffer, EOPNOTSUPP if libibverbs is too old.
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  exportDmabufFd(): number {
    return call("ibv_export_buf_dmabuf_fd", "export allocated buffer", [this.unsafeHandle], {
      hint: (code) => causeOf(EXPORT_CAUSES, code, {}),
    });
  }

  /** Memory whose buffer was transferred belongs to its new owner. */
  #free(handle: IbvBuf): void {
    if (this.#memory.detached) return;
    this.#memory.transfer(0);
    verbs().ibv_free_buf(handle);
  }
}

/**
 * A memory region of an `AllocatedBuffer` (`ibv_reg_buf_mr`). It belongs to the protection domain of the buffer.
 *
 * @category Memory
 */
export class AllocatedBufferRegion extends MemoryRegion {
  /** The buffer. */
  readonly buf: AllocatedBuffer;

  /**
   * Registers a part of a buffer.
   *
   * @param access `AccessFlags`, combined with `|`.
   * @param offset Where the part starts in the buffer, in bytes. The default is 0.
   * @param length Its length in bytes. If it is left out, the part extends to the buffer's end.
   * @throws {RangeError} If the part is not within the buffer, or empty.
   * @throws {VerbsError} If the device refuses.
   */
  constructor(buf: AllocatedBuffer, access: number, offset: number = 0, length?: number) {
    instance(buf, AllocatedBuffer, "buf");
    accessOf(access);
    const memory = memoryPart(buf, offset, length);
    const { start, bytes } = memory;
    const { pd } = buf;
    const size = BigInt(bytes.length);
    const args = [pd.unsafeHandle, buf.unsafeHandle, start, size, access | 0] as const;
    const handle = call("ibv_reg_buf_mr", "register allocated buffer", args, {
      detail: () => `${size} bytes from ${offset}, access ${namesOf(AccessFlags, access)}`,
      hint: (code) => causeOf(REGISTER_CAUSES, code, access),
      countOf: countsOf(pd.context),
    });
    super(
      pd,
      adopting({ pd, handle, addr: start, length: bytes.length, memory, parents: [buf] }),
      0,
    );
    this.buf = buf;
  }
}

/** A part of a buffer to register, of one byte at least. The buffer frees it. */
export function memoryPart(
  buf: AllocatedBuffer,
  offset: number,
  length: number = buf.length - offset,
): Memory {
  const { bytes } = buf;
  integer(offset, "offset", 0, bytes.length);
  integer(length, "length", 1, bytes.length - offset);
  return new Memory(bytes.subarray(offset, offset + length));
}
