import { integer, snapshot, uint64 } from "../../internal/checks.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { countsOf } from "../device/counts.ts";
import { adopting, MemoryRegion } from "./memory_region.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { AccessFlags, accessOf, WRITE_CAUSE } from "./reg_mr.ts";

/**
 * The null memory region (`ibv_alloc_null_mr`): the device discards what it writes there, and reads zeros. It has no
 * memory, and a slice of it may have any offset.
 *
 * @example A receive that keeps the first 64 bytes only
 * ```ts
 * import type { MemoryRegion, NullMemoryRegion, QueuePair } from "@rdma/ibverbs";
 *
 * function receiveStart(qp: QueuePair, mr: MemoryRegion, nothing: NullMemoryRegion): void {
 *   qp.postRecv({ sge: [mr.sge(0, 64), nothing.sge(0, 4032)] });
 * }
 * ```
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export class NullMemoryRegion extends MemoryRegion {
  /**
   * Allocates a null memory region.
   *
   * @throws {VerbsError} If the device refuses, or its provider has no such region (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain) {
    instance(pd, ProtectionDomain, "pd");
    const handle = call("ibv_alloc_null_mr", "allocate null memory region", [pd.unsafeHandle], {
      countOf: countsOf(pd.context),
    });
    super(pd, adopting({ pd, handle, addr: 0n, length: Number.MAX_SAFE_INTEGER }), 0);
  }
}

/**
 * The part of a DMA buffer that a `DmaBufMemoryRegion` registers.
 *
 * @category Memory
 */
export interface DmaBufInit {
  /** The file descriptor of the DMA buffer. The caller closes it. */
  readonly fd: number;
  /** Where the part starts in the buffer, in bytes; 0 if it is left out. */
  readonly offset?: bigint | number | undefined;
  /** Length in bytes. */
  readonly length: number;
  /** The address of the first byte in work requests and for peers; `offset` if it is left out. */
  readonly iova?: bigint | number | undefined;
  /** `AccessFlags`, combined with `|`. */
  readonly access: number;
}

/**
 * A memory region of a DMA buffer (`ibv_reg_dmabuf_mr`): memory of another device, such as a GPU, which exports it as a
 * file descriptor. This process cannot read its bytes; work requests can use it.
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export class DmaBufMemoryRegion extends MemoryRegion {
  /**
   * Registers a part of a DMA buffer.
   *
   * @throws {VerbsError} If the device refuses, or its provider has no such regions (EOPNOTSUPP).
   */
  constructor(pd: ProtectionDomain, init: DmaBufInit) {
    instance(pd, ProtectionDomain, "pd");
    const given = snapshot(init, "DMA buffer", ["fd", "offset", "length", "iova", "access"]);
    const fd = integer(given.fd, "fd", 0, 0x7fff_ffff);
    const offset = uint64(given.offset ?? 0, "offset");
    const length = integer(given.length, "length", 1, Number.MAX_SAFE_INTEGER);
    const addr = uint64(given.iova ?? offset, "iova");
    const access = accessOf(given.access);
    const args = [pd.unsafeHandle, offset, BigInt(length), addr, fd, access | 0] as const;
    const handle = call("ibv_reg_dmabuf_mr", "register DMA buffer", args, {
      detail: () => `${length} bytes from ${offset}, access ${namesOf(AccessFlags, access)}`,
      hint: (code) => causeOf(DMABUF_CAUSES, code, { access, offset, iova: addr }),
      countOf: countsOf(pd.context),
    });
    super(pd, adopting({ pd, handle, addr, length }), 0);
  }
}

interface DmaBufPart {
  readonly access: number;
  readonly offset: bigint;
  readonly iova: bigint;
}

export const DMABUF_CAUSES: Causes<DmaBufPart> = [
  ["EBADF", "fd is not open"],
  [
    "EINVAL",
    "offset and iova must have the same place within a page",
    // No machine has smaller pages than these.
    ({ offset, iova }) => ((offset ^ iova) & 0xfffn) !== 0n,
  ],
  [
    "EINVAL",
    "DMA buffers take no access but LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC and RELAXED_ORDERING",
    ({ access }) => (access & ~DMABUF_ACCESS) !== 0,
  ],
  [WRITE_CAUSE[0], WRITE_CAUSE[1], ({ access }) => WRITE_CAUSE[2]!(access)],
  ["EINVAL", "fd is no DMA buffer, or offset and length are beyond its end"],
];

const DMABUF_ACCESS = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE |
  AccessFlags.REMOTE_READ | AccessFlags.REMOTE_ATOMIC | AccessFlags.RELAXED_ORDERING;
