/**
 * The registration of memory of this process.
 *
 * @module
 */

import { errno } from "../../ffi/errno.ts";
import type { IbvMr } from "../../ffi/handles.ts";
import { nonblocking, verbs } from "../../ffi/library.ts";
import { pin, unpin } from "../../ffi/native_memory.ts";
import { abortable, signalOf } from "../core/abortable.ts";
import { instance, snapshot, uint32, uint64 } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { check, failure } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import { AccessFlags } from "./access_flags.ts";
import { checkSource, type Memory, type MemorySource } from "./memory_source.ts";
import { ProtectionDomain } from "./protection_domain.ts";

/**
 * Options of a {@linkcode MemoryRegion}.
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

/** A native memory region that exists already, for the constructor of its class. */
export interface Registered {
  /** The native region. */
  readonly handle: IbvMr;
  /** The address of the first byte in work requests and for peers. */
  readonly addr: bigint;
  /** Length in bytes. */
  readonly length: number;
  /** The memory, if this process can access it. The region keeps it and frees it. */
  readonly memory?: Memory;
  /** The objects that the region was made from, besides its protection domain. */
  readonly parents?: readonly Resource[];
  /** Destroys the native region; `ibv_dereg_mr` if it is left out. */
  readonly destroy?: (handle: IbvMr) => void;
}

/** Tells a native region from memory that is still to be registered. */
export class Registration {
  /** The region. */
  readonly registered: Registered;

  /** Describes a native region. */
  constructor(registered: Registered) {
    this.registered = registered;
  }
}

/** Deregisters memory. */
export function deregister(handle: IbvMr): void {
  check("ibv_dereg_mr", "deregister memory", verbs().ibv_dereg_mr(handle));
}

/** Arguments that were read and checked. */
interface Plan {
  readonly provide: () => Memory;
  readonly access: number;
  readonly iova: bigint | undefined;
  readonly signal: AbortSignal | undefined;
}

type Options = RegMrOptions & { readonly signal?: AbortSignal | undefined };

function readArguments(
  pd: ProtectionDomain,
  source: MemorySource,
  access: number,
  options: Options,
  names: readonly (keyof Options)[],
): Plan {
  instance(pd, ProtectionDomain, "pd");
  const { iova, signal } = snapshot(options, "options", names);
  return {
    provide: checkSource(source),
    access: uint32(access, "access"),
    iova: iova === undefined ? undefined : uint64(iova, "iova"),
    signal: signalOf({ signal }),
  };
}

/** Registers memory (`ibv_reg_mr`, `ibv_reg_mr_iova`). */
export function register(
  pd: ProtectionDomain,
  source: MemorySource,
  access: number,
  options: RegMrOptions = {},
): Registration {
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
  options: Options,
  use: (registration: Registration) => T,
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
      if (value !== null && verbs().ibv_dereg_mr(value) !== 0) keepMemory(memory);
      else memory.native?.free();
    },
  });
}

function finish(
  handle: IbvMr | null,
  value: number,
  memory: Memory,
  { access, iova }: Plan,
): Registration {
  const { bytes: { length }, start, native } = memory;
  if (handle === null) {
    native?.free();
    throw failure(iova === undefined ? "ibv_reg_mr" : "ibv_reg_mr_iova", "register memory", value, {
      detail: () => `${length} bytes, access ${namesOf(AccessFlags, access)}`,
      hint: (code) => hintRegister(code, access),
    });
  }
  keepMemory(memory);
  return new Registration({ handle, addr: iova ?? start, length, memory });
}

/** Keeps the buffer of a caller while the device may access it. */
export function keepMemory(memory: Memory): void {
  if (memory.native === undefined) pin(memory);
}

/** Frees memory that the device does not access any more, or ends {@linkcode keepMemory}. */
export function freeMemory(memory: Memory): void {
  if (memory.native === undefined) unpin(memory);
  else memory.native.free();
}

/** The likely cause of a failed registration. */
export function hintRegister(code: string, access: number): string | undefined {
  const { LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC, ON_DEMAND } = AccessFlags;
  if (code === "EINVAL" && access & (REMOTE_WRITE | REMOTE_ATOMIC) && !(access & LOCAL_WRITE)) {
    return "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well";
  }
  if (code === "ENOMEM") {
    return 'The limit on locked memory is likely too small: "ulimit -l" shows it';
  }
  if (code === "EOPNOTSUPP" && access & ON_DEMAND) {
    return "The device does not support ON_DEMAND: context.queryDeviceEx().odpCaps shows what it supports";
  }
}
