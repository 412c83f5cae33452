import { errno, errnoName } from "../../ffi/errno.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { snapshot } from "../../internal/checks.ts";
import { causeOf } from "../core/causes.ts";
import { instance } from "../core/checks.ts";
import { failure } from "../core/errors.ts";
import { rootOf } from "../core/resource.ts";
import { adopting, MemoryRegion, regionCore } from "./memory_region.ts";
import { checkSource, type Memory, type MemorySource } from "./memory_source.ts";
import { pdCore, ProtectionDomain } from "./protection_domain.ts";
import { accessOf, REGISTER_CAUSES } from "./reg_mr.ts";

const CHANGE = members("ibv_rereg_mr_flags", "IBV_REREG_MR_CHANGE_");
const ERR = members("ibv_rereg_mr_err_code", "IBV_REREG_MR_ERR_");

/**
 * What `reregMr` changes. At least one attribute is needed.
 *
 * @category Memory
 */
export interface RegMrChange {
  /** Another protection domain of the same device (`IBV_REREG_MR_CHANGE_PD`). */
  readonly pd?: ProtectionDomain | undefined;
  /** Other memory (`IBV_REREG_MR_CHANGE_TRANSLATION`): a length in bytes of new memory, or a buffer of the caller. */
  readonly source?: MemorySource | undefined;
  /** Other `AccessFlags`, combined with `|` (`IBV_REREG_MR_CHANGE_ACCESS`). */
  readonly access?: number | undefined;
}

interface Plan {
  readonly flags: number;
  readonly pd: ProtectionDomain | undefined;
  readonly provide: (() => Memory) | undefined;
  readonly access: number;
}

/**
 * Changes a memory region (`ibv_rereg_mr`): its protection domain, its memory, its access rights, or several of them. It
 * may be faster than a new registration.
 *
 * The result is a new object for the same native region. The old object is disposed, so that requests made with it are
 * refused: the keys and addresses of the region may have changed. If other memory is registered, the old memory is
 * freed, or released if it is a buffer of the caller. The new object is also disposed with what the old one was made
 * from.
 *
 * After most errors the old object stays as it is. If the device failed halfway, neither the old nor the new
 * registration can be used: the old object is then closed.
 *
 * @returns The region that takes the place of `mr`.
 * @throws {TypeError} Also if nothing is to be changed, or the region is not of memory of this process.
 * @throws {RangeError} As the constructor of `MemoryRegion`.
 * @throws {VerbsError} If the device refuses, or cannot change regions (EOPNOTSUPP).
 * @category Memory
 */
export function reregMr(mr: MemoryRegion, change: RegMrChange): MemoryRegion {
  const { flags, pd, provide, access } = readChange(mr, change);
  const handle = mr.unsafeHandle;
  const region = regionCore(mr);
  const old = region.memory;
  if (old === undefined) {
    throw new TypeError("Cannot change memory region: its memory is not of this process");
  }
  const parent = pd?.unsafeHandle ?? null;
  const memory = provide?.();
  const start = memory?.start ?? 0n;
  const length = BigInt(memory?.bytes.length ?? 0);
  const result = verbs().ibv_rereg_mr(handle, flags, parent, start, length, access | 0);
  if (result !== 0 && result !== ERR.DO_FORK_OLD) fail(mr, result, memory, access);
  if (memory !== undefined) {
    old.free();
    memory.keep();
  }
  region.handOver();
  const replaced = new MemoryRegion(
    pd ?? region.pd,
    adopting({
      pd: pd ?? region.pd,
      handle,
      addr: memory?.start ?? region.addr,
      length: (memory ?? old).bytes.length,
      memory: memory ?? old,
      parents: region.parents,
    }),
    0,
  );
  mr.close();
  return replaced;
}

function readChange(mr: MemoryRegion, change: RegMrChange): Plan {
  instance(mr, MemoryRegion, "mr");
  const { pd, source, access } = snapshot(change, "change", ["pd", "source", "access"]);
  if (pd !== undefined && pdCore(instance(pd, ProtectionDomain, "pd")).context !== rootOf(mr)) {
    throw new TypeError("Cannot change memory region: pd belongs to another context");
  }
  const flags = (source === undefined ? 0 : CHANGE.TRANSLATION) |
    (pd === undefined ? 0 : CHANGE.PD) | (access === undefined ? 0 : CHANGE.ACCESS);
  if (flags === 0) throw new TypeError("Cannot change memory region: no attribute is given");
  return {
    flags,
    pd,
    provide: source === undefined ? undefined : checkSource(source),
    access: access === undefined ? 0 : accessOf(access),
  };
}

function fail(
  mr: MemoryRegion,
  result: number,
  memory: Memory | undefined,
  access: number,
): never {
  const value = errno();
  const code = errnoName(value);
  const error = failure("ibv_rereg_mr", "change memory region", value, {
    hint: (code) => causeOf(REGISTER_CAUSES, code, access),
  });
  // A provider without the op has not touched the region.
  if (result > ERR.CMD || code === "EOPNOTSUPP") {
    memory?.free();
    throw error;
  }
  if (memory !== undefined) {
    memory.keep();
    regionCore(mr).add(memory);
  }
  using stack = new DisposableStack();
  stack.use(mr);
  throw error;
}
