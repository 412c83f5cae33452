/** Attributes of a completion queue that can be changed. */

import { enums } from "../../ffi/layout.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";

/**
 * Attributes of a completion queue to change (`struct ibv_modify_cq_attr`).
 *
 * @category Completions
 */
export interface ModifyCqAttr {
  /** Moderation of events (`struct ibv_moderate_cq`). An event comes when one of the limits is reached. */
  readonly moderate?: {
    /** The number of completions for one event, 16 bits. */
    readonly cqCount: number;
    /** The longest delay of an event, in microseconds, 16 bits. */
    readonly cqPeriod: number;
  };
}

type ModerateCq = NonNullable<ModifyCqAttr["moderate"]>;

const moderate: AttributeCodec<ModerateCq> = codecOf("ibv_moderate_cq", "moderate", {
  cqCount: { required: true },
  cqPeriod: { required: true },
});

const codec: AttributeCodec<ModifyCqAttr> = codecOf(
  "ibv_modify_cq_attr",
  "completion queue attributes",
  { moderate: { struct: moderate, mask: enums.ibv_cq_attr_mask.IBV_CQ_ATTR_MODERATE } },
);

/**
 * Writes the attributes with their mask.
 *
 * @throws {TypeError} If none is given.
 */
export function writeModifyCq(attr: ModifyCqAttr): DataView<ArrayBuffer> {
  const { view, mask } = codec.write(attr);
  if (mask === 0) throw new TypeError("Cannot modify completion queue: no attribute is given");
  return view;
}
