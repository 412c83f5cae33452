import { errno } from "../../ffi/errno.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { integer, snapshot, uint64 } from "../../internal/checks.ts";
import { causeOf } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { failure } from "../core/errors.ts";
import { rootOf } from "../core/resource.ts";
import { countsOf } from "../device/counts.ts";
import { AllocatedBuffer, memoryPart } from "./allocated_buffer.ts";
import { DmaHandle } from "./dma_handle.ts";
import { adopting, MemoryRegion } from "./memory_region.ts";
import { checkSource, type Memory, type MemorySource } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { AccessFlags, accessOf, REGISTER_CAUSES } from "./reg_mr.ts";

/**
 * Attributes of a `MemoryRegionEx` (`struct ibv_mr_init_attr`). The memory is one of `source`, `buf` and `fd`.
 *
 * @category Memory
 */
export interface MrInitAttr {
  /** `AccessFlags`, combined with `|`. */
  readonly access: number;
  /** A length in bytes of new memory, or a buffer, as for `MemoryRegion`. */
  readonly source?: MemorySource | undefined;
  /** A buffer of the same protection domain. */
  readonly buf?: AllocatedBuffer | undefined;
  /** The file descriptor of a DMA buffer. The caller closes it. */
  readonly fd?: number | undefined;
  /** Where the part starts in `buf` or in the DMA buffer, in bytes; 0 if it is left out. */
  readonly offset?: number | undefined;
  /** Length of the part in bytes. `fd` needs it; without it a part of `buf` extends to the end. */
  readonly length?: number | undefined;
  /**
   * The address of the first byte in work requests and for peers. If it is left out, it is the address of the memory in
   * this process, or `offset` for `fd`.
   */
  readonly iova?: bigint | number | undefined;
  /** Hints for the accesses of the device. */
  readonly dmah?: DmaHandle | undefined;
}

/** The attributes as C has them. */
interface Attr extends Pick<MrInitAttr, "access" | "fd" | "buf" | "dmah"> {
  readonly iova: bigint | number | undefined;
  readonly length: number;
  readonly addr?: bigint | undefined;
  readonly fdOffset?: number | bigint | undefined;
}

const MASK = members("ibv_mr_init_attr_mask", "IBV_REG_MR_MASK_");

const codec: AttributeCodec<Attr> = codecOf("ibv_mr_init_attr", "memory region", {
  length: { bits: 53 },
  access: { bits: 32 },
  iova: { mask: MASK.IOVA },
  addr: { mask: MASK.ADDR },
  fd: { mask: MASK.FD },
  fdOffset: { mask: MASK.FD_OFFSET },
  dmah: { mask: MASK.DMAH, resource: DmaHandle },
  buf: { mask: MASK.BUF, resource: AllocatedBuffer },
});

const NAMES = ["access", "source", "buf", "fd", "offset", "length", "iova", "dmah"] as const;

/** What is registered, and where work requests find it. */
interface Plan extends Pick<Attr, "buf" | "fd" | "fdOffset" | "iova"> {
  readonly length: number;
  /** The memory, if this process can access it. */
  readonly memory?: Memory | undefined;
}

/**
 * A memory region with the attributes of `ibv_reg_mr_ex` (since rdma-core 59), such as a `DmaHandle`.
 *
 * @category Memory
 */
export class MemoryRegionEx extends MemoryRegion {
  /**
   * Registers memory.
   *
   * @throws {TypeError} If an attribute has the wrong type or is unknown; if the memory is given twice or not at all, or
   * `source` with `offset` or `length`; if something is disposed or belongs to another context or protection domain.
   * @throws {RangeError} If a number is out of range, or the part is not within the buffer.
   * @throws {VerbsError} If the device refuses, or it or the installed libibverbs has no such regions (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, attr: MrInitAttr) {
    instance(pd, ProtectionDomain, "pd");
    const given = snapshot(attr, "memory region", NAMES);
    const access = accessOf(given.access);
    if (given.iova !== undefined) uint64(given.iova, "iova");
    const { dmah } = given;
    if (dmah !== undefined && rootOf(instance(dmah, DmaHandle, "dmah")) !== rootOf(pd)) {
      throw new TypeError("Cannot register memory: dmah belongs to another context");
    }
    const plan = planOf(pd, given);
    // From here on no code of the caller runs, and only disposed objects are refused.
    const { unsafeHandle } = pd;
    void dmah?.unsafeHandle;
    const { memory, length, ...place } = plan();
    const { view, writeHandles } = codec.write({
      access,
      length,
      ...memory !== undefined && { addr: memory.start },
      ...dmah !== undefined && { dmah },
      ...place,
    });
    writeHandles();
    const handle = verbs().ibv_reg_mr_ex(unsafeHandle, view);
    if (handle === null) {
      memory?.free();
      throw failure("ibv_reg_mr_ex", "register memory", errno(), {
        detail: () => `${length} bytes, access ${namesOf(AccessFlags, access)}`,
        hint: (code) => causeOf(REGISTER_CAUSES, code, access),
        countOf: countsOf(pd.context),
      });
    }
    memory?.keep();
    const addr = BigInt(place.iova ?? memory!.start);
    const parents = [place.buf, dmah].filter((part) => part !== undefined);
    super(
      pd,
      adopting({ pd, handle, addr, length, parents, ...memory !== undefined && { memory } }),
      0,
    );
  }
}

/** Checks what is registered. The function allocates new memory. */
function planOf(
  pd: ProtectionDomain,
  { source, buf, fd, offset, length, iova }: Omit<MrInitAttr, "access">,
): () => Plan {
  if ([source, buf, fd].filter((place) => place !== undefined).length !== 1) {
    throw new TypeError("Cannot register memory: give one of source, buf and fd");
  }
  if (source !== undefined) {
    if (offset !== undefined || length !== undefined) {
      throw new TypeError("Cannot register memory: offset and length are of buf and fd");
    }
    const provide = checkSource(source);
    return () => {
      const memory = provide();
      return { memory, length: memory.bytes.length, iova };
    };
  }
  const start = integer(offset === undefined ? 0 : offset, "offset", 0, Number.MAX_SAFE_INTEGER);
  if (buf !== undefined) {
    if (instance(buf, AllocatedBuffer, "buf").pd !== pd) {
      throw new TypeError("Cannot register memory: buf belongs to another protection domain");
    }
    const memory = memoryPart(buf, start, length);
    return () => ({ buf, memory, length: memory.bytes.length, iova });
  }
  const descriptor = integer(fd!, "fd", 0, 0x7fff_ffff);
  const size = integer(length!, "length", 1, Number.MAX_SAFE_INTEGER);
  // The kernel requires all of them.
  return () => ({ fd: descriptor, fdOffset: start, length: size, iova: iova ?? start });
}
