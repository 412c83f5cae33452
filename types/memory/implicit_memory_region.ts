import type { IbvMr } from "../../ffi/handles.ts";
import { NativeMemory } from "../../ffi/native_memory.ts";
import { bufferAddress } from "../../ffi/pointers.ts";
import { integer } from "../../internal/checks.ts";
import { causeOf } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { assertOpen } from "../core/resource.ts";
import { countsOf } from "../device/counts.ts";
import { adopting, MemoryRegion, MemorySlice } from "./memory_region.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { AccessFlags, accessOf, REGISTER_CAUSES } from "./reg_mr.ts";
import { deregister } from "./region.ts";

/** `SIZE_MAX`: the whole address space. */
const WHOLE = 0xffff_ffff_ffff_ffffn;

/** Memory of an implicit region. */
interface Part {
  readonly address: number;
  readonly native: NativeMemory;
}

/**
 * A memory region of the whole address space of this process (implicit on-demand paging: `ibv_reg_mr` with address NULL
 * and length `SIZE_MAX`). Memory that is allocated later needs no registration of its own:
 * `ImplicitMemoryRegion.allocate` provides it.
 *
 * **With remote access rights, peers that know the key can access all memory of this process.**
 *
 * @category Memory
 */
export class ImplicitMemoryRegion extends MemoryRegion {
  readonly #parts: Part[];

  /**
   * Registers the whole address space.
   *
   * @param access `AccessFlags`, combined with `|`. `ON_DEMAND` is added.
   * @throws {VerbsError} If the device refuses, or does not support it: see `context.queryDeviceEx().odpCaps`.
   */
  constructor(pd: ProtectionDomain, access: number) {
    instance(pd, ProtectionDomain, "pd");
    const flags = (accessOf(access) | AccessFlags.ON_DEMAND) >>> 0;
    const args = [pd.unsafeHandle, 0n, WHOLE, flags | 0] as const;
    const handle = call("ibv_reg_mr", "register the address space", args, {
      detail: () => `access ${namesOf(AccessFlags, flags)}`,
      hint: (code) => causeOf(REGISTER_CAUSES, code, flags),
      countOf: countsOf(pd.context),
    });
    const parts: Part[] = [];
    const destroy = (handle: IbvMr): void => {
      deregister(handle);
      for (const { native } of parts.splice(0)) native.free();
    };
    const length = Number.MAX_SAFE_INTEGER;
    const bytesAt = (offset: number, size: number): Uint8Array<ArrayBuffer> =>
      bytesOf(parts, offset, size);
    super(pd, adopting({ pd, handle, addr: 0n, length, destroy, bytesAt }), 0);
    this.#parts = parts;
  }

  /**
   * Provides new memory for work requests. It is zeroed, starts on a page, and is freed when the region is disposed. In
   * the slice, `offset` is the address, and `bytes` are those of the memory: the region itself has none.
   *
   * @throws {RangeError} If the length is not positive, or the system cannot provide enough memory.
   */
  allocate(length: number): MemorySlice {
    integer(length, "length", 1, Number.MAX_SAFE_INTEGER);
    assertOpen(this);
    const native = new NativeMemory(length);
    const address = Number(bufferAddress(native.buffer));
    this.#parts.push({ address, native });
    return new MemorySlice(this, address, length);
  }
}

/** The bytes of memory that the region has provided. */
function bytesOf(parts: readonly Part[], start: number, length: number): Uint8Array<ArrayBuffer> {
  const part = parts.find(({ address, native }) =>
    start >= address && start < address + native.buffer.byteLength
  );
  if (part === undefined) {
    throw new RangeError(`Cannot access address ${start}: the region has not allocated it`);
  }
  const { buffer } = part.native;
  const offset = start - part.address;
  return new Uint8Array(buffer, offset, integer(length, "length", 0, buffer.byteLength - offset));
}
