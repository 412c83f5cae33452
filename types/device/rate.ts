/** Rates of ports and of address handles. */

import { verbs } from "../../ffi/library.ts";
import { type Members, members } from "../../ffi/members.ts";
import { integer } from "../../internal/checks.ts";

/**
 * A static rate (`enum ibv_rate`). The names are rates in Gb/s: `Rate["25_GBPS"]`. The values are codes. `MAX`, which is
 * 0, is the rate of the port.
 *
 * @category Devices and ports
 */
export const Rate: Members<"ibv_rate", "IBV_RATE_"> = members("ibv_rate", "IBV_RATE_");
/**
 * A value of {@linkcode Rate}.
 *
 * @category Devices and ports
 */
export type Rate = typeof Rate[keyof typeof Rate];

/**
 * The multiple of 2.5 Gb/s that a rate is (`ibv_rate_to_mult`): 4 for 10 Gb/s. It is -1 if libibverbs knows none.
 *
 * @category Devices and ports
 */
export function rateToMult(rate: Rate): number {
  return verbs().ibv_rate_to_mult(integer(rate, "rate", 0, 0xff));
}

/**
 * The rate of a multiple of 2.5 Gb/s (`mult_to_ibv_rate`). It is `Rate.MAX` if there is no such rate.
 *
 * @category Devices and ports
 */
export function multToRate(mult: number): Rate {
  return verbs().mult_to_ibv_rate(integer(mult, "mult", 0, 0x7fff_ffff)) as Rate;
}

/**
 * A rate in Mb/s (`ibv_rate_to_mbps`). It is -1 if libibverbs does not know the rate.
 *
 * @example Mb/s of a code
 * ```ts
 * import { Rate, rateToMbps } from "@rdma/ibverbs";
 *
 * console.log(rateToMbps(Rate["100_GBPS"]));
 * ```
 *
 * @category Devices and ports
 */
export function rateToMbps(rate: Rate): number {
  return verbs().ibv_rate_to_mbps(integer(rate, "rate", 0, 0xff));
}

/**
 * The rate of a number of Mb/s (`mbps_to_ibv_rate`). It is `Rate.MAX` if there is no such rate.
 *
 * @category Devices and ports
 */
export function mbpsToRate(mbps: number): Rate {
  return verbs().mbps_to_ibv_rate(integer(mbps, "mbps", 0, 0x7fff_ffff)) as Rate;
}
