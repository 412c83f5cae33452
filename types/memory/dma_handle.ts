import type { IbvDmah } from "../../ffi/handles.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { call } from "../core/errors.ts";
import { type NativeKind, NativeResource } from "../core/native_resource.ts";
import { Context } from "../device/context.ts";

/**
 * Kind of memory for the hints of a `DmaHandle` (`enum ibv_tph_mem_type`).
 *
 * @category Memory
 */
export const TphMemType: {
  /** Volatile memory. */
  readonly VM: CEnum.ibv_tph_mem_type.IBV_TPH_MEM_TYPE_VM;
  /** Persistent memory. */
  readonly PM: CEnum.ibv_tph_mem_type.IBV_TPH_MEM_TYPE_PM;
} = members("ibv_tph_mem_type", "IBV_TPH_MEM_TYPE_");
/**
 * A value of `TphMemType`.
 *
 * @category Memory
 */
export type TphMemType = typeof TphMemType[keyof typeof TphMemType];

/**
 * Attributes of a `DmaHandle` (`struct ibv_dmah_init_attr`).
 *
 * @category Memory
 */
export interface DmahInitAttr {
  /** The processor whose caches the data is for, by its number in Linux. */
  readonly cpuId?: number | undefined;
  /** Processing hints of PCIe, 8 bits. */
  readonly ph?: number | undefined;
  /** The kind of memory. */
  readonly tphMemType?: TphMemType | undefined;
}

const MASK = members("ibv_dmah_init_attr_mask", "IBV_DMAH_INIT_ATTR_MASK_");

const codec: AttributeCodec<DmahInitAttr> = codecOf("ibv_dmah_init_attr", "DMA handle", {
  cpuId: { mask: MASK.CPU_ID },
  ph: { mask: MASK.PH },
  tphMemType: { mask: MASK.TPH_MEM_TYPE, values: TphMemType },
});

/**
 * A DMA handle (`struct ibv_dmah`, since rdma-core 59): hints for the device's accesses to a memory region that is made
 * with it, a `MemoryRegionEx`.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export class DmaHandle extends NativeResource<IbvDmah> {
  static readonly #KIND: NativeKind<IbvDmah, DmaHandle> = {
    name: "DMA handle",
    destroy: (handle) => call("ibv_dealloc_dmah", "deallocate DMA handle", [handle]),
    describe: ({ context }) => ({ device: context.device.name }),
  };

  /** The device. */
  readonly context: Context;

  /**
   * Allocates a DMA handle (`ibv_alloc_dmah`).
   *
   * @throws {VerbsError} If the device refuses, or it or the installed libibverbs has no DMA handles (EOPNOTSUPP).
   */
  constructor(context: Context, attr: DmahInitAttr = {}) {
    instance(context, Context, "context");
    const { view } = codec.write(attr);
    const handle = call("ibv_alloc_dmah", "allocate DMA handle", [context.unsafeHandle, view]);
    super(DmaHandle.#KIND, handle, [context]);
    this.context = context;
  }
}
