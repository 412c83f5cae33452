import { integer } from "../../internal/checks.ts";
import { verbs } from "../../ffi/library.ts";
import type { CEnum } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { textOrUnknown } from "../../ffi/pointers.ts";
import { call } from "../core/errors.ts";
import type { EventType } from "./async_events.ts";
import type { NodeType } from "./device.ts";
import type { PortState } from "./port.ts";

/**
 * Whether registered memory is safe when the process forks (`enum ibv_fork_status`).
 *
 * @category Devices and ports
 */
export const ForkStatus: {
  /** It is not. */
  readonly DISABLED: CEnum.ibv_fork_status.IBV_FORK_DISABLED;
  /** `forkInit` made it safe. */
  readonly ENABLED: CEnum.ibv_fork_status.IBV_FORK_ENABLED;
  /** The kernel makes it safe. */
  readonly UNNEEDED: CEnum.ibv_fork_status.IBV_FORK_UNNEEDED;
} = members("ibv_fork_status", "IBV_FORK_");
/**
 * A value of `ForkStatus`.
 *
 * @category Devices and ports
 */
export type ForkStatus = typeof ForkStatus[keyof typeof ForkStatus];

/**
 * Makes registered memory safe when the process forks (`ibv_fork_init`). Call it before any memory is registered. Starting
 * a subprocess with `Deno.Command` forks. Kernels since 5.12 need no such call.
 *
 * @throws {VerbsError} EINVAL if memory is already registered, ENOSYS if the kernel cannot do it.
 * @category Devices and ports
 */
export function forkInit(): void {
  call("ibv_fork_init", "make memory safe for forks", []);
}

/**
 * Whether registered memory is safe when the process forks (`ibv_is_fork_initialized`).
 *
 * @throws {VerbsError} EOPNOTSUPP if the installed libibverbs is older than rdma-core 35.
 * @category Devices and ports
 */
export function isForkInitialized(): ForkStatus {
  return call("ibv_is_fork_initialized", "ask for the safety of forks", []) as ForkStatus;
}

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

/**
 * A kind of node in words (`ibv_node_type_str`), such as `"InfiniBand channel adapter"`.
 *
 * @category Devices and ports
 */
export function nodeTypeStr(nodeType: NodeType): string {
  return textOrUnknown(verbs().ibv_node_type_str(integer(nodeType, "nodeType", -1, 0x7fff_ffff)));
}

/**
 * A state of a port in words (`ibv_port_state_str`), such as `"active"`.
 *
 * @category Devices and ports
 */
export function portStateStr(state: PortState): string {
  return textOrUnknown(verbs().ibv_port_state_str(integer(state, "state", 0, 0x7fff_ffff)));
}

/**
 * A kind of asynchronous event in words (`ibv_event_type_str`), such as `"port active"`.
 *
 * @category Asynchronous events
 */
export function eventTypeStr(type: EventType): string {
  return textOrUnknown(verbs().ibv_event_type_str(integer(type, "type", 0, 0x7fff_ffff)));
}

/**
 * A static rate (`enum ibv_rate`). The names are rates in Gb/s: `Rate["25_GBPS"]`. The values are codes. `MAX`, which is
 * 0, is the rate of the port.
 *
 * @category Devices and ports
 */
export const Rate: {
  /** The rate of the port. */
  readonly MAX: CEnum.ibv_rate.IBV_RATE_MAX;
  /** 2.5 Gb/s. */
  readonly "2_5_GBPS": CEnum.ibv_rate.IBV_RATE_2_5_GBPS;
  /** 5 Gb/s. */
  readonly "5_GBPS": CEnum.ibv_rate.IBV_RATE_5_GBPS;
  /** 10 Gb/s. */
  readonly "10_GBPS": CEnum.ibv_rate.IBV_RATE_10_GBPS;
  /** 20 Gb/s. */
  readonly "20_GBPS": CEnum.ibv_rate.IBV_RATE_20_GBPS;
  /** 30 Gb/s. */
  readonly "30_GBPS": CEnum.ibv_rate.IBV_RATE_30_GBPS;
  /** 40 Gb/s. */
  readonly "40_GBPS": CEnum.ibv_rate.IBV_RATE_40_GBPS;
  /** 60 Gb/s. */
  readonly "60_GBPS": CEnum.ibv_rate.IBV_RATE_60_GBPS;
  /** 80 Gb/s. */
  readonly "80_GBPS": CEnum.ibv_rate.IBV_RATE_80_GBPS;
  /** 120 Gb/s. */
  readonly "120_GBPS": CEnum.ibv_rate.IBV_RATE_120_GBPS;
  /** 14 Gb/s. */
  readonly "14_GBPS": CEnum.ibv_rate.IBV_RATE_14_GBPS;
  /** 56 Gb/s. */
  readonly "56_GBPS": CEnum.ibv_rate.IBV_RATE_56_GBPS;
  /** 112 Gb/s. */
  readonly "112_GBPS": CEnum.ibv_rate.IBV_RATE_112_GBPS;
  /** 168 Gb/s. */
  readonly "168_GBPS": CEnum.ibv_rate.IBV_RATE_168_GBPS;
  /** 25 Gb/s. */
  readonly "25_GBPS": CEnum.ibv_rate.IBV_RATE_25_GBPS;
  /** 100 Gb/s. */
  readonly "100_GBPS": CEnum.ibv_rate.IBV_RATE_100_GBPS;
  /** 200 Gb/s. */
  readonly "200_GBPS": CEnum.ibv_rate.IBV_RATE_200_GBPS;
  /** 300 Gb/s. */
  readonly "300_GBPS": CEnum.ibv_rate.IBV_RATE_300_GBPS;
  /** 28 Gb/s. */
  readonly "28_GBPS": CEnum.ibv_rate.IBV_RATE_28_GBPS;
  /** 50 Gb/s. */
  readonly "50_GBPS": CEnum.ibv_rate.IBV_RATE_50_GBPS;
  /** 400 Gb/s. */
  readonly "400_GBPS": CEnum.ibv_rate.IBV_RATE_400_GBPS;
  /** 600 Gb/s. */
  readonly "600_GBPS": CEnum.ibv_rate.IBV_RATE_600_GBPS;
  /** 800 Gb/s. */
  readonly "800_GBPS": CEnum.ibv_rate.IBV_RATE_800_GBPS;
  /** 1200 Gb/s. */
  readonly "1200_GBPS": CEnum.ibv_rate.IBV_RATE_1200_GBPS;
} = members("ibv_rate", "IBV_RATE_");
/**
 * A value of `Rate`.
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
