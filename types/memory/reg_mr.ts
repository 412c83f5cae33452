import { cutTo, ofCaller } from "../../internal/caller.ts";
import { errno } from "../../ffi/errno.ts";
import type { IbvMr } from "../../ffi/handles.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { type AbortOptions, signalOf } from "../../wait/abort.ts";
import { show, snapshot, uint32, uint64 } from "../../internal/checks.ts";
import { abortable } from "../core/abortable.ts";
import { type Cause, causeOf, type Causes } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { failure } from "../core/errors.ts";
import { countsOf } from "../device/counts.ts";
import { checkSource, type Memory, type MemorySource } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";
import { Region } from "./region.ts";

/**
 * What a device may do with memory (`enum ibv_access_flags`), combined with `|`. 0 is enough to send from the memory.
 *
 * @category Memory
 */
export const AccessFlags: {
  /** The device writes what it receives, and the results of RDMA reads and atomics. */
  readonly LOCAL_WRITE: CEnum.ibv_access_flags.IBV_ACCESS_LOCAL_WRITE;
  /** Peers write by RDMA; it needs `LOCAL_WRITE`. */
  readonly REMOTE_WRITE: CEnum.ibv_access_flags.IBV_ACCESS_REMOTE_WRITE;
  /** Peers read by RDMA. */
  readonly REMOTE_READ: CEnum.ibv_access_flags.IBV_ACCESS_REMOTE_READ;
  /** Peers use atomics; it needs `LOCAL_WRITE`. */
  readonly REMOTE_ATOMIC: CEnum.ibv_access_flags.IBV_ACCESS_REMOTE_ATOMIC;
  /** Memory windows can be bound to the region. */
  readonly MW_BIND: CEnum.ibv_access_flags.IBV_ACCESS_MW_BIND;
  /** Remote addresses count from 0. */
  readonly ZERO_BASED: CEnum.ibv_access_flags.IBV_ACCESS_ZERO_BASED;
  /**
   * Pages need not be present and locked when the memory is registered; the device fetches each one when it first uses
   * it. `context.queryDeviceEx().odpCaps` has the operations that support this. `adviseMr` fetches pages in advance.
   * **Soft-RoCE of Linux 7.3** copies each packet from and to the start of a page: only messages of one packet that
   * start on a page arrive intact.
   */
  readonly ON_DEMAND: CEnum.ibv_access_flags.IBV_ACCESS_ON_DEMAND;
  /** The memory consists of huge pages. */
  readonly HUGETLB: CEnum.ibv_access_flags.IBV_ACCESS_HUGETLB;
  /** Peers use `WrBuilder.flush` with `PlacementType`.GLOBAL. */
  readonly FLUSH_GLOBAL: CEnum.ibv_access_flags.IBV_ACCESS_FLUSH_GLOBAL;
  /** Peers use `WrBuilder.flush` with `PlacementType`.PERSISTENT. */
  readonly FLUSH_PERSISTENT: CEnum.ibv_access_flags.IBV_ACCESS_FLUSH_PERSISTENT;
  /** The device may reorder its writes. */
  readonly RELAXED_ORDERING: CEnum.ibv_access_flags.IBV_ACCESS_RELAXED_ORDERING;
} = members("ibv_access_flags", "IBV_ACCESS_");

/**
 * Options of a `MemoryRegion`.
 *
 * @category Memory
 */
export interface RegMrOptions {
  /**
   * The address of the first byte in work requests and for peers (`ibv_reg_mr_iova`). If it is left out, it is the
   * address of the memory in this process.
   */
  readonly iova?: bigint | number | undefined;
}

/**
 * Options of `MemoryRegion.createAsync`.
 *
 * @category Memory
 */
export interface RegMrAsyncOptions extends RegMrOptions, AbortOptions {}

/** Arguments that were read and checked. */
interface Plan {
  readonly pd: ProtectionDomain;
  readonly provide: () => Memory;
  readonly access: number;
  readonly iova: bigint | undefined;
  readonly signal: AbortSignal | undefined;
}

function readArguments(
  pd: ProtectionDomain,
  source: MemorySource,
  access: number,
  options: RegMrAsyncOptions,
  names: readonly (keyof RegMrAsyncOptions)[],
): Plan {
  return cutTo(readArguments, () => {
    instance(pd, ProtectionDomain, "pd");
    if (typeof options === "number") throw lengthOfBuffer(options);
    const { iova, signal } = snapshot(options, "options", names);
    return {
      pd,
      provide: checkSource(source),
      access: accessOf(access),
      iova: iova === undefined ? undefined : uint64(iova, "iova"),
      signal: signalOf({ signal }),
    };
  });
}

/** The error of `ibv_reg_mr(pd, addr, length, access)` of C. */
function lengthOfBuffer(given: number): TypeError {
  return new TypeError(
    `Cannot use options ${given}: a buffer has its own length: write (pd, buffer, access)`,
  );
}

/** Reads rights, which callers leave out, or give by name. */
export function accessOf(access: number): number {
  if (typeof access === "number") return uint32(access, "access");
  throw ofCaller(
    new TypeError(
      `Cannot use access ${
        show(access)
      }: it is not a number, such as AccessFlags.LOCAL_WRITE, or 0 to send only`,
    ),
    accessOf,
  );
}

/** Registers memory (`ibv_reg_mr`, `ibv_reg_mr_iova`). */
export function register(
  pd: ProtectionDomain,
  source: MemorySource,
  access: number,
  options: RegMrOptions = {},
): Region {
  const plan = readArguments(pd, source, access, options, ["iova"]);
  const parent = pd.unsafeHandle;
  const memory = plan.provide();
  const length = BigInt(memory.bytes.length);
  const handle = plan.iova === undefined
    ? verbs().ibv_reg_mr(parent, memory.start, length, access | 0)
    : verbs().ibv_reg_mr_iova(parent, memory.start, length, plan.iova, access | 0);
  return finish(handle, handle === null ? errno() : 0, memory, plan);
}

/** Registers memory on another thread (`ibv_reg_mr_iova2`). */
export async function registerAsync<T>(
  pd: ProtectionDomain,
  source: MemorySource,
  access: number,
  options: RegMrAsyncOptions,
  use: (region: Region) => T,
): Promise<T> {
  const plan = readArguments(pd, source, access, options, ["iova", "signal"]);
  let memory: Memory;
  return await abortable({
    owner: pd,
    signal: plan.signal,
    start: () => {
      const parent = pd.unsafeHandle;
      memory = plan.provide();
      const { start } = memory;
      const length = BigInt(memory.bytes.length);
      return nonblocking().ibv_reg_mr_iova2(parent, start, length, plan.iova ?? start, access);
    },
    finish: ({ value, errno }) => use(finish(value, errno, memory, plan)),
    discard: ({ value }) => {
      if (value !== null && verbs().ibv_dereg_mr(value) !== 0) memory.keep();
      else memory.free();
    },
  });
}

function finish(
  handle: IbvMr | null,
  value: number,
  memory: Memory,
  { pd, access, iova }: Plan,
): Region {
  const { bytes: { length }, start } = memory;
  if (handle === null) {
    memory.free();
    throw failure(iova === undefined ? "ibv_reg_mr" : "ibv_reg_mr_iova", "register memory", value, {
      detail: () => `${length} bytes, access ${namesOf(AccessFlags, access)}`,
      hint: (code) => causeOf(REGISTER_CAUSES, code, access),
      countOf: countsOf(pd.context),
    });
  }
  memory.keep();
  return new Region({ pd, handle, addr: iova ?? start, length, memory });
}

const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC, ON_DEMAND, FLUSH_PERSISTENT, HUGETLB } =
  AccessFlags;

const has = (flags: number) => (access: number): boolean => (access & flags) !== 0;

/** Why rights of peers to write are refused. */
export const WRITE_CAUSE: Cause<number> = [
  "EINVAL",
  "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well",
  (access) => has(REMOTE_WRITE | REMOTE_ATOMIC)(access) && !has(LOCAL_WRITE)(access),
];

/** Why memory is not registered, by the access that was requested. */
export const REGISTER_CAUSES: Causes<number> = [
  WRITE_CAUSE,
  [
    "EINVAL",
    "FLUSH_PERSISTENT needs persistent memory, and a device that flushes it",
    has(FLUSH_PERSISTENT),
  ],
  [
    "EFAULT",
    "The memory is not mapped, or it is read-only, and LOCAL_WRITE needs memory that may be written",
    has(LOCAL_WRITE),
  ],
  [
    "EFAULT",
    "The memory is not mapped, or it is a file that is mapped shared and read-only, which Linux 6.1 refuses: copy it",
  ],
  [
    "EOPNOTSUPP, EINVAL",
    "The device, or its driver in this kernel, does not support HUGETLB, or the memory has no huge pages: leave it out",
    has(HUGETLB),
  ],
  [
    "EOPNOTSUPP, EINVAL",
    "The device does not support ON_DEMAND: context.queryDeviceEx().odpCaps shows what it supports",
    has(ON_DEMAND),
  ],
];
