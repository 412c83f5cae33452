import type { IbvMr } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { readNative } from "../../ffi/struct.ts";
import { uint32, uint64 } from "../../internal/checks.ts";
import { inTurn } from "../../wait/turns.ts";
import { Grh } from "../address/grh.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { assertOpen } from "../core/resource.ts";
import type { MemorySource } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { register, registerAsync, type RegMrAsyncOptions, type RegMrOptions } from "./reg_mr.ts";
import { type NativeRegion, Region } from "./region.ts";

/**
 * A scatter/gather element (`struct ibv_sge`).
 *
 * @category Memory
 */
export interface Sge {
  /** Address of the first byte, 64 bits. `MemorySlice` has it as a bigint. */
  readonly addr: number | bigint;
  /** Length in bytes. */
  readonly length: number;
  /** Key of the memory region that the bytes lie in. */
  readonly lkey: number;
}

/**
 * A memory region as a peer needs it for RDMA: `mr.remote` of the peer. It is plain data, so it can be sent as JSON.
 * Whoever has it can use the memory, as far as the rights of the region allow.
 *
 * @category Memory
 */
export interface RemoteMemory {
  /**
   * The address of the first byte in hexadecimal, such as `"0x7f0012340000"`. It is text because it may exceed 2^53:
   * `BigInt(addr)` is the `remoteAddr` of a request.
   */
  readonly addr: string;
  /** The length in bytes. */
  readonly length: number;
  /** The key of the memory region, 32 bits. */
  readonly rkey: number;
}

/** Passes a native region to adopt in the place of memory. The public type of the constructor does not show it. */
export function adopting(native: NativeRegion): MemorySource {
  return new Region(native) as never;
}

/** The inside of a memory region. */
export let regionCore: (mr: MemoryRegion) => Region;

/**
 * A memory region (`struct ibv_mr`): memory that is registered with a device, which may then read and write it.
 * Requests name a part of a region: `MemoryRegion.sge`. The program reads
 * and writes the same bytes: `MemoryRegion.bytes`.
 *
 * The rights decide what the device does with the memory. To send from it, 0 is enough. To receive into it, it needs
 * `AccessFlags`.LOCAL_WRITE. For a peer that writes or reads it by RDMA, it also needs REMOTE_WRITE or
 * REMOTE_READ, and the peer needs `MemoryRegion.remote`.
 *
 * The region registers new memory, or a buffer of the caller:
 *
 * - New memory belongs to the region. It is zeroed, starts on a page, and is freed when the region is disposed: every
 *   view of it then has length 0.
 * - A buffer of the caller is kept alive until the memory is deregistered, even if the program drops the region and
 *   everything it was made from. It can no longer be transferred, not even after the region is disposed: `transfer()`,
 *   `structuredClone()` and `postMessage()` throw; before Deno 2.9.4 the last two may share it instead. A
 *   `SharedArrayBuffer` can be sent to other threads. The memory of a `WebAssembly.Memory` is refused, unless it is
 *   shared. In a Worker all such buffers are refused, because the buffers of a Worker are freed when it is terminated,
 *   while the device may still write to them.
 *
 * @example Memory to receive into
 * ```ts
 * import { AccessFlags, Context, MemoryRegion, ProtectionDomain } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = new ProtectionDomain(context);
 * using mr = new MemoryRegion(pd, 64 * 1024, AccessFlags.LOCAL_WRITE);
 * const { bytes } = mr.sge(0, 1024); // shared with the device
 * ```
 *
 * @example Memory that a peer may write to
 * ```ts
 * import type { MemorySlice, ProtectionDomain, QueuePair, RemoteMemory } from "@rdma/ibverbs";
 * import { AccessFlags, MemoryRegion, WrOpcode } from "@rdma/ibverbs";
 *
 * function share(pd: ProtectionDomain): string {
 *   const mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE);
 *   return JSON.stringify(mr.remote); // what the peer needs
 * }
 *
 * function write(qp: QueuePair, data: MemorySlice, shared: string): void {
 *   const { addr, rkey }: RemoteMemory = JSON.parse(shared);
 *   qp.postSend({ opcode: WrOpcode.RDMA_WRITE, sge: data, remoteAddr: BigInt(addr), rkey });
 * }
 * ```
 *
 * @category Memory
 */
export class MemoryRegion extends NativeResource<IbvMr> {
  static readonly #KIND: NativeKind<IbvMr, MemoryRegion> = {
    name: "memory region",
    closing: (mr) => {
      mr.#core.isOpen = false;
    },
    destroy: (_, mr) => mr.#core.end(),
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
  readonly #core: Region;

  static {
    // An object that only looks like a slice can have anything as its region. The general test takes 50 ns.
    regionCore = (mr) =>
      (mr instanceof MemoryRegion ? mr : instance<MemoryRegion>(mr, MemoryRegion, "mr")).#core;
  }

  /**
   * Registers memory (`ibv_reg_mr`, or `ibv_reg_mr_iova` if an address is chosen). It locks the memory, which takes time
   * if there is much of it: `MemoryRegion.createAsync` does it on another thread.
   *
   * @param source A length in bytes, or the buffer.
   * @param access `AccessFlags`, combined with `|`. 0 is enough to send from the memory.
   * @param options The address, if it is not to be that of the memory.
   * @throws {RangeError} If there is no byte to register, or the system cannot provide enough memory.
   * @throws {TypeError} If the protection domain is disposed; if the buffer is detached, resizable or that of a
   * `WebAssembly.Memory`; in a Worker, if the source is a buffer.
   * @throws {VerbsError} If the device refuses. ENOMEM mostly means that the limit on locked memory is reached.
   */
  constructor(pd: ProtectionDomain, source: MemorySource, access: number, options?: RegMrOptions) {
    const region = source instanceof Region ? source : register(pd, source, access, options);
    super(MemoryRegion.#KIND, region.handle, [region.pd, ...region.parents]);
    this.pd = region.pd;
    this.addr = region.addr;
    this.length = region.length;
    this.lkey = region.lkey;
    this.rkey = region.rkey;
    this.#core = region;
  }

  /**
   * Registers memory on another thread, as the constructor does. If the signal aborts, the call rejects with the signal's
   * reason, and memory that is registered afterwards is deregistered again.
   *
   * @throws {TypeError} Also if the protection domain is disposed in the meantime.
   */
  static async createAsync(
    pd: ProtectionDomain,
    source: MemorySource,
    access: number,
    options: RegMrAsyncOptions = {},
  ): Promise<MemoryRegion> {
    return await inTurn(async () => {
      const adopt = (region: Region): MemoryRegion => new MemoryRegion(pd, region as never, 0);
      return await registerAsync(pd, source, access, options, adopt);
    });
  }

  /**
   * Imports a memory region of another process that shares the device (`ibv_import_mr`). This process cannot read its
   * bytes; work requests can use it. Closing the object leaves the region to the process that made it.
   *
   * @param handle The number of the region: `MemoryRegion.handle` in the other process.
   * @param addr `MemoryRegion.addr` in the other process, which the kernel does not report.
   * @throws {VerbsError} If there is no such region, or the provider cannot import (EOPNOTSUPP).
   * @experimental Not tested on any device: it has only run on a library that records calls.
   */
  static import(pd: ProtectionDomain, handle: number, addr: bigint | number): MemoryRegion {
    instance(pd, ProtectionDomain, "pd");
    uint32(handle, "handle");
    const start = uint64(addr, "addr");
    const imported = call("ibv_import_mr", "import memory region", [pd.unsafeHandle, handle], {
      detail: () => `handle ${handle}`,
    });
    const length = Number(readNative(imported, structs.ibv_mr.fields.length));
    const destroy = (mr: IbvMr): void => verbs().ibv_unimport_mr(mr);
    return new MemoryRegion(
      pd,
      adopting({ pd, handle: imported, addr: start, length, destroy }),
      0,
    );
  }

  /** The number of the region in the kernel. Another process that shares the device can import the region by it. */
  get handle(): number {
    return readNative(this.unsafeHandle, structs.ibv_mr.fields.handle);
  }

  /**
   * What a peer needs to write or read the region by RDMA. `JSON.stringify(mr.remote)` is what to send.
   *
   * @throws {TypeError} If the region is disposed: then peers cannot reach it.
   */
  get remote(): RemoteMemory {
    assertOpen(this);
    const { addr, length, rkey } = this;
    return { addr: `0x${addr.toString(16)}`, length, rkey };
  }

  /**
   * A part of the region, for work requests.
   *
   * @param offset Where the part starts, in bytes.
   * @param length Its length in bytes. If it is left out, the part extends to the region's end.
   * @throws {RangeError} If the part is not within the region.
   */
  sge(offset: number = 0, length: number = this.length - offset): MemorySlice {
    return new MemorySlice(this, offset, length);
  }

  /**
   * The bytes of the region, shared with the device. Those of a part are `mr.sge(offset, length).bytes`.
   *
   * @throws {TypeError} If the region is disposed, or this process cannot access its memory.
   * @throws {RangeError} If it is an `ImplicitMemoryRegion`: slices that it allocates have bytes.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#core.bytesAt(0, this.length);
  }

  /**
   * The GRH in a buffer that a UD receive was written to: a copy of the buffer's first 40 bytes.
   *
   * @param offset Where the buffer starts in the region, in bytes.
   * @throws {RangeError} If the region does not have 40 bytes there.
   */
  grhAt(offset: number): Grh {
    return new Grh(this.#core.bytesAt(offset, Grh.SIZE));
  }
}

/**
 * A part of a memory region, as a scatter/gather element. `MemoryRegion.sge`
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
   * Takes a part of a region, as `MemoryRegion.sge` does.
   *
   * @throws {RangeError} If the part is not within the region.
   */
  constructor(mr: MemoryRegion, offset: number, length: number) {
    const region = regionCore(mr);
    region.assertWithin(offset, length);
    this.mr = mr;
    this.offset = offset;
    this.addr = region.addr + BigInt(offset);
    this.length = length;
    this.lkey = region.lkey;
  }

  /**
   * The bytes of the part, shared with the device.
   *
   * @throws {TypeError} If the region is disposed, or this process cannot access its memory.
   * @throws {RangeError} If it is a part that an `ImplicitMemoryRegion` has not allocated.
   */
  get bytes(): Uint8Array<ArrayBuffer> {
    return regionCore(this.mr).bytesAt(this.offset, this.length);
  }

  /** Offset, length and key on one line, for `console.log`. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  /** The place within the region, and its key. */
  toString(): string {
    return `MemorySlice { offset: ${this.offset}, length: ${this.length}, lkey: ${this.lkey} }`;
  }
}
