/** UDP source ports of RoCE v2. */

import { verbs } from "../../ffi/library.ts";
import { integer } from "../core/checks.ts";

/**
 * The UDP source port that RoCE v2 derives from a flow label (`ibv_flow_label_to_udp_sport`), 0xc000 to 0xffff. Switches
 * choose a path by it.
 *
 * @param flowLabel The flow label, 20 bits.
 * @throws {RangeError} If it does not fit 20 bits.
 * @category GIDs and headers
 */
export function flowLabelToUdpSport(flowLabel: number): number {
  return verbs().ibv_flow_label_to_udp_sport(integer(flowLabel, "flowLabel", 0, 0xf_ffff));
}
