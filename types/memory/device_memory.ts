import type { IbvDm } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { readNative } from "../../ffi/struct.ts";
import { copyOfBytes, integer, snapshot, uint32 } from "../../internal/checks.ts";
import { made, partsIn } from "../../internal/made.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { rootOf } from "../core/resource.ts";
import { Context } from "../device/context.ts";
import { countsOf } from "../device/counts.ts";
import { adopting, MemoryRegion } from "./memory_region.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { AccessFlags, accessOf } from "./reg_mr.ts";

/**
 * Attributes of `DeviceMemory` (`struct ibv_alloc_dm_attr`).
 *
 * @category Memory
 */
export interface AllocDmAttr {
  /** Length in bytes. */
  readonly length: number;
  /** Alignment of the memory, as an exponent: 2^n bytes. 0 if it is left out. */
  readonly logAlignReq?: number | undefined;
}

const codec: AttributeCodec<AllocDmAttr> = codecOf("ibv_alloc_dm_attr", "device memory", {
  length: { required: true, min: 1, bits: 53 },
  logAlignReq: { max: 63 },
});

/** What device memory is made from that exists natively. */
interface DmParts {
  readonly handle: IbvDm;
  readonly length: number;
  readonly isImported: boolean;
}

function alloc(context: Context, attr: AllocDmAttr): DmParts {
  const { view, given: { length } } = codec.write(attr);
  const handle = call("ibv_alloc_dm", "allocate device memory", [context.unsafeHandle, view], {
    detail: () => `${length} bytes`,
  });
  return { handle, length, isImported: false };
}

/**
 * Memory on the device (`struct ibv_dm`), which the device accesses faster than memory of the host. This process copies
 * bytes in and out; a `DeviceMemoryRegion` registers it for work requests.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export class DeviceMemory extends NativeResource<IbvDm> {
  static readonly #KIND: NativeKind<IbvDm, DeviceMemory> = {
    name: "device memory",
    destroy: (handle, dm) => {
      if (dm.#isImported) verbs().ibv_unimport_dm(handle);
      else call("ibv_free_dm", "free device memory", [handle]);
    },
    describe: ({ length }) => ({ length }),
  };

  /** The device. */
  readonly context: Context;
  /** Length in bytes. */
  readonly length: number;
  readonly #isImported: boolean;

  /**
   * Allocates device memory (`ibv_alloc_dm`).
   *
   * @throws {VerbsError} If the device refuses, or its provider has no device memory (EOPNOTSUPP).
   */
  constructor(context: Context, attr: AllocDmAttr) {
    instance(context, Context, "context");
    const { handle, length, isImported } = partsIn<DmParts>(attr) ?? alloc(context, attr);
    super(DeviceMemory.#KIND, handle, [context]);
    this.context = context;
    this.length = length;
    this.#isImported = isImported;
  }

  /**
   * Imports device memory of another process that shares the device (`ibv_import_dm`). Closing the object leaves the
   * memory to the process that allocated it.
   *
   * @param handle The number of the memory: `DeviceMemory.handle` in the other process.
   * @param length The length of the memory in bytes, which the kernel does not report.
   * @throws {VerbsError} If there is no such memory, or the provider cannot import (EOPNOTSUPP).
   */
  static import(context: Context, handle: number, length: number): DeviceMemory {
    instance(context, Context, "context");
    uint32(handle, "handle");
    integer(length, "length", 1, Number.MAX_SAFE_INTEGER);
    const dm = call("ibv_import_dm", "import device memory", [context.unsafeHandle, handle], {
      detail: () => `handle ${handle}`,
    });
    return new DeviceMemory(context, made<DmParts>({ handle: dm, length, isImported: true }));
  }

  /** The number of the memory in the kernel. Another process that shares the device can import the memory by it. */
  get handle(): number {
    return readNative(this.unsafeHandle, structs.ibv_dm.fields.handle);
  }

  /**
   * Copies bytes to the device (`ibv_memcpy_to_dm`).
   *
   * @param dmOffset Where to write in the device memory, in bytes. Devices may need a multiple of 4.
   * @param bytes The bytes. Devices may need a multiple of 4.
   * @throws {RangeError} If the bytes do not fit.
   */
  memcpyTo(dmOffset: number, bytes: Uint8Array): void {
    const copy = copyOfBytes(bytes, "bytes");
    this.#checkRange(dmOffset, copy.length);
    const length = BigInt(copy.length);
    const args = [this.unsafeHandle, BigInt(dmOffset), copy, length] as const;
    call("ibv_memcpy_to_dm", "copy to device memory", args, {
      detail: () => `${length} bytes at ${dmOffset}`,
      hint: (code) => causeOf(COPY_CAUSES, code, { dmOffset, length: copy.length }),
    });
  }

  /**
   * Copies bytes from the device (`ibv_memcpy_from_dm`). Devices may need multiples of 4 here, too.
   *
   * @throws {RangeError} If the part is not within the device memory.
   */
  memcpyFrom(dmOffset: number, length: number): Uint8Array<ArrayBuffer> {
    this.#checkRange(dmOffset, length);
    const bytes = new Uint8Array(length);
    const args = [bytes, this.unsafeHandle, BigInt(dmOffset), BigInt(length)] as const;
    call("ibv_memcpy_from_dm", "copy from device memory", args, {
      detail: () => `${length} bytes at ${dmOffset}`,
      hint: (code) => causeOf(COPY_CAUSES, code, { dmOffset, length }),
    });
    return bytes;
  }

  /**
   * A new file descriptor of the memory as a DMA buffer (`ibv_dm_export_dmabuf_fd`, since rdma-core 62), for other devices
   * of this host. The caller closes it.
   *
   * @throws {VerbsError} EOPNOTSUPP if the device or the installed libibverbs cannot export.
   */
  exportDmabufFd(): number {
    return call("ibv_dm_export_dmabuf_fd", "export device memory", [this.unsafeHandle]);
  }

  #checkRange(dmOffset: number, length: number): void {
    integer(dmOffset, "dmOffset", 0, this.length);
    integer(length, "length", 0, this.length - dmOffset);
  }
}

export const COPY_CAUSES: Causes<{ readonly dmOffset: number; readonly length: number }> = [
  [
    "EINVAL, EFAULT",
    "The device may need an offset and a length that are multiples of 4",
    ({ dmOffset, length }) => (dmOffset | length) % 4 !== 0,
  ],
];

/**
 * The part of device memory that a `DeviceMemoryRegion` registers.
 *
 * @category Memory
 */
export interface RegDmMrInit {
  /** Where the part starts in the device memory, in bytes; 0 if it is left out. */
  readonly dmOffset?: number | undefined;
  /** Length in bytes; to the end of the device memory if it is left out. */
  readonly length?: number | undefined;
  /** `AccessFlags`, combined with `|`. Devices may need `ZERO_BASED`. */
  readonly access: number;
}

/**
 * A memory region of device memory (`ibv_reg_dm_mr`). Its addresses count from 0. This process cannot read its bytes
 * through the region; work requests can use it.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export class DeviceMemoryRegion extends MemoryRegion {
  /** The device memory. */
  readonly dm: DeviceMemory;

  /**
   * Registers a part of device memory.
   *
   * @throws {TypeError} Also if the device memory belongs to another context.
   * @throws {RangeError} If the part is not within the device memory.
   */
  constructor(pd: ProtectionDomain, dm: DeviceMemory, init: RegDmMrInit) {
    instance(pd, ProtectionDomain, "pd");
    if (rootOf(instance(dm, DeviceMemory, "dm")) !== rootOf(pd)) {
      throw new TypeError("Cannot register device memory: dm belongs to another context");
    }
    const given = snapshot(init, "device memory region", ["dmOffset", "length", "access"]);
    const dmOffset = integer(given.dmOffset ?? 0, "dmOffset", 0, dm.length);
    const rest = dm.length - dmOffset;
    const length = integer(given.length ?? rest, "length", 1, rest);
    const access = accessOf(given.access);
    const range = [BigInt(dmOffset), BigInt(length)] as const;
    const args = [pd.unsafeHandle, dm.unsafeHandle, ...range, access] as const;
    const handle = call("ibv_reg_dm_mr", "register device memory", args, {
      detail: () => `${length} bytes from ${dmOffset}, access ${namesOf(AccessFlags, access)}`,
      hint: (code) =>
        code === "EINVAL" && (access & AccessFlags.ZERO_BASED) === 0
          ? "The device may need ZERO_BASED"
          : undefined,
      countOf: countsOf(pd.context),
    });
    super(pd, adopting({ pd, handle, addr: 0n, length, parents: [dm] }), 0);
    this.dm = dm;
  }
}
