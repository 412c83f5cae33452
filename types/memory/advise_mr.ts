import { type CEnum, constants, structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { listOf, snapshot, uint32 } from "../../internal/checks.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { call } from "../core/errors.ts";
import { MemorySlice, regionCore, type Sge } from "./memory_region.ts";
import { ProtectionDomain } from "./protection_domain.ts";

/**
 * Advice for `adviseMr` (`enum ibv_advise_mr_advice`).
 *
 * @category Memory
 */
export const AdviseMrAdvice: {
  /** Load the pages for reading. */
  readonly PREFETCH: CEnum.ibv_advise_mr_advice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH;
  /** Load the pages for writing. */
  readonly PREFETCH_WRITE: CEnum.ibv_advise_mr_advice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  /** Load the pages that are present in memory. */
  readonly PREFETCH_NO_FAULT:
    CEnum.ibv_advise_mr_advice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
} = members("ibv_advise_mr_advice", "IB_UVERBS_ADVISE_MR_ADVICE_");
/**
 * A value of `AdviseMrAdvice`.
 *
 * @category Memory
 */
export type AdviseMrAdvice = typeof AdviseMrAdvice[keyof typeof AdviseMrAdvice];

/**
 * Flags for `adviseMr`.
 *
 * @category Memory
 */
export const AdviseMrFlags: {
  /** The pages are loaded when the call returns. */
  readonly FLUSH: 1;
} = Object.freeze({
  FLUSH: constants.IBV_ADVISE_MR_FLAG_FLUSH,
});

/** The codec of `struct ibv_sge`. */
export const sgeCodec: AttributeCodec<Sge> = codecOf("ibv_sge", "sge", {
  addr: { required: true },
  length: { required: true },
  lkey: { required: true },
});

/**
 * Tells the device which parts of memory regions it will use soon (`ibv_advise_mr`). The regions are registered with
 * `AccessFlags.ON_DEMAND`; the device can then load their pages before it needs them.
 *
 * @param flags `AdviseMrFlags`, combined with `|`.
 * @throws {RangeError} Also if a part is not within its region.
 * @throws {VerbsError} If the device refuses, or its provider takes no advice (EOPNOTSUPP).
 *
 * @experimental Not tested on any device: it has only run on a library that records calls.
 * @category Memory
 */
export function adviseMr(
  pd: ProtectionDomain,
  advice: AdviseMrAdvice,
  flags: number,
  sges: readonly Sge[],
): void {
  instance(pd, ProtectionDomain, "pd");
  uint32(advice, "advice");
  uint32(flags, "flags");
  const list = listOf(sges, "sges").map(readSge);
  const view = allocStruct(structs.ibv_sge, Math.max(1, list.length));
  list.forEach((sge, i) => sgeCodec.write(sge, {}, view, i * structs.ibv_sge.size));
  call("ibv_advise_mr", "advise memory", [pd.unsafeHandle, advice, flags, view, list.length], {
    detail: () => `${nameOf(AdviseMrAdvice, advice)}, ${list.length} parts`,
  });
}

function readSge(sge: Sge): Sge {
  if (!(sge instanceof MemorySlice)) return snapshot(sge, "sge", ["addr", "length", "lkey"]);
  const { mr, offset, addr, length, lkey } = sge;
  regionCore(mr).assertWithin(offset, length);
  return { addr, length, lkey };
}
