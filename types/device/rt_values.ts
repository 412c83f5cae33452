/** Values of a device that change while it runs. */

import type { IbvContext } from "../../ffi/handles.ts";
import { enums } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { type AttributeCodec, codecOf, readStruct } from "../core/attributes.ts";
import { check } from "../core/errors.ts";

/**
 * Values of a device that change while it runs (`struct ibv_values_ex`).
 *
 * @category Devices and ports
 */
export interface RtValuesEx {
  /** The values that the provider reports (`enum ibv_values_mask`): 1 is `rawClock`. */
  readonly compMask: number;
  /**
   * The clock that completion timestamps count by. Providers may report it as a time, or as cycles in `tvNsec` with
   * `tvSec` 0: cycles are of {@linkcode DeviceAttrEx.hcaCoreClock}.
   */
  readonly rawClock: {
    /** Seconds. */
    readonly tvSec: bigint;
    /** Nanoseconds, or cycles. */
    readonly tvNsec: bigint;
  };
}

const codec: AttributeCodec<{ compMask: number }> = codecOf("ibv_values_ex", "values", {
  compMask: {},
});

/** Queries the values (`ibv_query_rt_values_ex`). */
export function queryRtValuesEx(context: IbvContext): RtValuesEx {
  const compMask = enums.ibv_values_mask.IBV_VALUES_MASK_RAW_CLOCK;
  const { view } = codec.write({ compMask });
  const result = verbs().ibv_query_rt_values_ex(context, view);
  check("ibv_query_rt_values_ex", "query device clock", result);
  return readStruct<"ibv_values_ex", RtValuesEx>("ibv_values_ex", view);
}
