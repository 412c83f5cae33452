import type { IbvCqEx } from "../../ffi/handles.ts";
import { type CEnum, constants, enums } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { hasOwnOp } from "../../ffi/library/ops.ts";
import { members } from "../../ffi/members.ts";
import { integer, snapshot } from "../../internal/checks.ts";
import { made, partsIn } from "../../internal/made.ts";
import { causeOf, type Causes, type Words } from "../core/causes.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { namesOf } from "../core/enums.ts";
import { call, type CheckOptions, lacking } from "../core/errors.ts";
import { Context } from "../device/context.ts";
import { ProtectionDomain } from "../memory/protection_domain.ts";
import {
  checkCq,
  CompletionChannel,
  CompletionQueue,
  type CqInitAttr,
  type CqParts,
  explainCq,
} from "./completion_queue.ts";
import { CqCoreEx } from "./cq_core_ex.ts";
import { CreateCqWcFlags, type WorkCompletionEx } from "./work_completion_list_ex.ts";

/**
 * Properties of a completion queue (`enum ibv_create_cq_attr_flags`), combined with `|`.
 *
 * @category Completions
 */
export const CreateCqAttrFlags: {
  /** The provider takes no locks, because one thread uses the queue. */
  readonly SINGLE_THREADED: CEnum.ibv_create_cq_attr_flags.IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  /** The queue does not fail when it overruns. */
  readonly IGNORE_OVERRUN: CEnum.ibv_create_cq_attr_flags.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
} = members("ibv_create_cq_attr_flags", "IBV_CREATE_CQ_ATTR_");

/**
 * Attributes of an extended completion queue to create (`struct ibv_cq_init_attr_ex`).
 *
 * @category Completions
 */
export interface CqInitAttrEx extends CqInitAttr {
  /**
   * `CreateCqWcFlags`, combined: the values to report. If it is left out, these are the values of
   * `WorkCompletion`. The number of the queue pair is always reported.
   */
  readonly wcFlags?: number | bigint | undefined;
  /** `CreateCqAttrFlags`, combined. */
  readonly flags?: number | undefined;
  /** The parent domain whose allocators provide the memory of the queue. */
  readonly parentDomain?: ProtectionDomain | undefined;
}

interface CqAttrEx extends Omit<CqInitAttrEx, "channel"> {
  readonly channel?: CompletionChannel | undefined;
}

const { IBV_CQ_INIT_ATTR_MASK_FLAGS: FLAGS, IBV_CQ_INIT_ATTR_MASK_PD: PD } =
  enums.ibv_cq_init_attr_mask;

export const cqAttrExCodec: AttributeCodec<CqAttrEx> = codecOf(
  "ibv_cq_init_attr_ex",
  "completion queue attributes",
  {
    cqe: {},
    channel: { resource: CompletionChannel },
    compVector: {},
    wcFlags: {},
    flags: { mask: FLAGS },
    parentDomain: { resource: ProtectionDomain, mask: PD },
  },
);

type ReaderOp = Parameters<typeof hasOwnOp<"ibv_cq_ex">>[2];

/** The function pointers of a queue that are always used. */
const ALWAYS: readonly ReaderOp[] = [
  "start_poll",
  "next_poll",
  "end_poll",
  "read_opcode",
  "read_vendor_err",
  "read_wc_flags",
];

/** The function pointers that flags need, where their names differ. */
const READERS: Readonly<Record<string, ReaderOp>> = {
  IMM: "read_imm_data",
  COMPLETION_TIMESTAMP: "read_completion_ts",
  COMPLETION_TIMESTAMP_WALLCLOCK: "read_completion_wallclock_ns",
};

const ALL_FLAGS = Object.values(CreateCqWcFlags).reduce((all: number, flag) => all | flag, 0);

/**
 * An extended completion queue (`struct ibv_cq_ex`): its completions have timestamps and other values that a
 * `CompletionQueue` does not report. Each poll runs `ibv_start_poll`, `ibv_next_poll` and `ibv_end_poll`, and
 * reads the values that the queue was created for.
 *
 * @example Timestamps of completions
 * ```ts
 * import { CompletionQueueEx, type Context, CreateCqWcFlags } from "@rdma/ibverbs";
 *
 * function open(context: Context): CompletionQueueEx {
 *   const { BYTE_LEN, COMPLETION_TIMESTAMP } = CreateCqWcFlags;
 *   return new CompletionQueueEx(context, {
 *     cqe: 256,
 *     wcFlags: BYTE_LEN | COMPLETION_TIMESTAMP,
 *   });
 * }
 * ```
 *
 * @category Completions
 */
export class CompletionQueueEx<C extends WorkCompletionEx = WorkCompletionEx>
  extends CompletionQueue<C> {
  /** `CreateCqWcFlags`, combined: the values that the completions report. */
  readonly wcFlags: number;

  /**
   * Creates an extended completion queue (`ibv_create_cq_ex`).
   *
   * @param context The device.
   * @param init The attributes.
   * @throws {TypeError} If the context, the channel or the parent domain is disposed, or one belongs to another context.
   * @throws {RangeError} If a number is out of range.
   * @throws {VerbsError} EOPNOTSUPP if the device does not report a value or has no such queues, EINVAL for more entries
   * than it supports.
   */
  constructor(context: Context, init: CqInitAttrEx) {
    const other: ProviderCq<unknown> = partsIn(init) ?? { init, provider: PLAIN };
    const { wcFlags, parts } = createCqEx(context, other);
    super(context, made(parts));
    this.wcFlags = wcFlags;
  }
}

/**
 * The vendor of soft-RoCE. Its ibv_next_poll() ends the poll where the queue is empty, and ibv_end_poll() then skips
 * the completion that comes next: a completion is lost, and one that never existed is read.
 */
const SOFT_ROCE = 0xff_ffff;

/** How a queue is made, and polled. */
export interface CqExProvider<C> {
  /** Makes the native object from a `struct ibv_cq_init_attr_ex`. */
  readonly create: (
    context: Context,
    view: DataView<ArrayBuffer>,
    explain: CheckOptions,
  ) => IbvCqEx;
  /** Makes the object that polls it. */
  readonly core: (cq: IbvCqEx, flags: number, isSingle: () => boolean) => CqCoreEx<C>;
}

/** The attributes of a queue that a function of the provider creates, for the constructor. */
export interface ProviderCq<C> {
  readonly init: CqInitAttrEx;
  readonly provider: CqExProvider<C>;
}

const PLAIN: CqExProvider<WorkCompletionEx> = {
  create: (context, view, explain) => {
    const args = [context.unsafeHandle, view] as const;
    return call("ibv_create_cq_ex", "create completion queue", args, explain);
  },
  core: (...args) => new CqCoreEx(...args),
};

function createCqEx<C>(
  context: Context,
  { init, provider }: ProviderCq<C>,
): { wcFlags: number; parts: CqParts<C> } {
  instance(context, Context, "context");
  const names = ["cqe", "channel", "compVector", "wcFlags", "flags", "parentDomain"] as const;
  const given = snapshot(init, "completion queue attributes", names);
  const wcFlags = checkWcFlags(given.wcFlags);
  checkParentDomain(context, given.parentDomain);
  const { channel, ...sizes } = checkCq(context, given);
  const { view, writeHandles } = cqAttrExCodec.write({
    ...sizes,
    wcFlags,
    ...(given.flags !== undefined && { flags: given.flags }),
    ...(given.parentDomain !== undefined && { parentDomain: given.parentDomain }),
    ...(channel !== null && { channel }),
  });
  writeHandles();
  const cq = provider.create(context, view, explainCqEx(context, sizes.cqe, wcFlags));
  checkReaders(cq, wcFlags);
  const isSingle = (): boolean => context.queryDevice().vendorId === SOFT_ROCE;
  const core = provider.core(cq, wcFlags, isSingle);
  const handle = verbs().ibv_cq_ex_to_cq(cq)!;
  const parents = given.parentDomain === undefined ? [] : [given.parentDomain];
  return { wcFlags, parts: { handle, channel, core, parents } };
}

function explainCqEx(context: Context, cqe: number, wcFlags: number): CheckOptions {
  const { hint, ...rest } = explainCq(context, cqe);
  return {
    ...rest,
    hint: (code) => causeOf(CQ_EX_CAUSES, code, { context, wcFlags }) ?? hint!(code),
  };
}

/** Values that a device may not be able to report. */
export const CQ_EX_CAUSES: Causes<{ readonly context: Context; readonly wcFlags: number }> = [
  [
    "EOPNOTSUPP, ENOSYS",
    "Not every device reports {special} (wcFlags). This one has no clock: its completionTimestampMask is 0",
    ({ context, wcFlags }) =>
      (wcFlags & CLOCK) !== 0 && context.queryDeviceEx().completionTimestampMask === 0n &&
      specialOf(wcFlags),
  ],
  [
    "EOPNOTSUPP, ENOSYS",
    "Not every device reports {special} (wcFlags)",
    ({ wcFlags }) => specialOf(wcFlags),
  ],
];

const CLOCK = CreateCqWcFlags.COMPLETION_TIMESTAMP |
  CreateCqWcFlags.COMPLETION_TIMESTAMP_WALLCLOCK;

function specialOf(wcFlags: number): Words | undefined {
  const special = wcFlags & ~constants.IBV_WC_STANDARD_FLAGS;
  return special === 0 ? undefined : { special: namesOf(CreateCqWcFlags, special) };
}

function checkWcFlags(given: number | bigint | undefined): number {
  if (given === undefined) return constants.IBV_WC_STANDARD_FLAGS;
  const flags = typeof given === "bigint" && given <= BigInt(ALL_FLAGS) ? Number(given) : given;
  integer(flags as number, "wcFlags", 0, ALL_FLAGS);
  // Sends are counted by queue pair: their address handles live until the sends complete.
  return (flags as number) | CreateCqWcFlags.QP_NUM;
}

function checkParentDomain(context: Context, pd: ProtectionDomain | undefined): void {
  if (pd === undefined || instance(pd, ProtectionDomain, "parentDomain").context === context) {
    return;
  }
  throw new TypeError("Cannot create completion queue: parentDomain belongs to another context");
}

/** A provider that leaves a reader out would end the process when it is called. */
function checkReaders(cq: IbvCqEx, wcFlags: number): void {
  const needed = Object.entries(CreateCqWcFlags).filter(([, flag]) => (wcFlags & flag) !== 0)
    .map(([name]) => READERS[name] ?? `read_${name.toLowerCase()}` as ReaderOp);
  const missing = [...ALWAYS, ...needed].find((op) => !hasOwnOp(cq, "ibv_cq_ex", op));
  if (missing === undefined) return;
  verbs().ibv_destroy_cq(verbs().ibv_cq_ex_to_cq(cq)!);
  throw lacking(`ibv_${missing.replace("read", "wc_read")}`, "create completion queue");
}
