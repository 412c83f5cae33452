/** Likely causes of failures of queue pairs. */

import { nameOf } from "../core/enums.ts";
import type { Context } from "../device/context.ts";
import type { QpAttrInit, QpCap } from "./qp_attr.ts";
import { QpState, QpType } from "./qp_enums.ts";
import type { QpInitAttr } from "./qp_init_attr.ts";
import { explainTransition } from "./transitions.ts";

/** The likely cause of a queue pair that cannot be made. */
export function hintCreate(
  code: string,
  context: Context,
  init: QpInitAttr,
): string | undefined {
  if (code === "EPERM") {
    return init.type === QpType.RAW_PACKET
      ? "Raw packet queue pairs take the capability CAP_NET_RAW"
      : undefined;
  }
  if (init.rwqIndTbl !== undefined || init.rxHashConf !== undefined) return hintRss(code);
  return code === "EINVAL" || code === "ENOMEM" ? hintLimits(context, init.cap) : undefined;
}

function hintRss(code: string): string | undefined {
  if (code !== "EINVAL" && code !== "EOPNOTSUPP") return undefined;
  return "RSS, where the device has it, takes type RAW_PACKET, both rwqIndTbl and rxHashConf, a key of 40 bytes, " +
    "and a combination of fields that the device knows";
}

function hintLimits(context: Context, cap: Partial<QpCap> = {}): string | undefined {
  const { maxQpWr, maxSge, maxQp } = context.queryDevice();
  const { maxSendWr = 0, maxRecvWr = 0, maxSendSge = 0, maxRecvSge = 0 } = cap;
  const within = Math.max(maxSendWr, maxRecvWr) <= maxQpWr &&
    Math.max(maxSendSge, maxRecvSge) <= maxSge;
  if (within) return undefined;
  return `The device allows ${maxQpWr} work requests, ${maxSge} scatter/gather elements, ${maxQp} queue pairs`;
}

/** The likely cause of a modification that failed. */
export function hintModify(
  code: string,
  type: QpType,
  from: QpState,
  given: QpAttrInit,
): string | undefined {
  const grh = given.ahAttr?.grh;
  if (grh !== undefined && ["ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT"].includes(code)) {
    return `GID index ${grh.sgidIndex} has no route to ${grh.dgid}`;
  }
  return code === "EINVAL" ? explainTransition(type, from, given) : undefined;
}

const { RESET, INIT, RTR } = QpState;

/** The likely cause of sends that were refused. */
export function hintPostSend(code: string, state: QpState): string | undefined {
  return hintPost(code, state, [RESET, INIT, RTR], "sends need RTS");
}

/** The likely cause of receives that were refused. */
export function hintPostRecv(code: string, state: QpState): string | undefined {
  return hintPost(code, state, [RESET], "receives need INIT");
}

function hintPost(
  code: string,
  state: QpState,
  wrong: readonly QpState[],
  needed: string,
): string | undefined {
  if (code === "ENOMEM") {
    return "The queue is full, or the request has too many scatter/gather elements";
  }
  if (code !== "EINVAL" || !wrong.includes(state)) return undefined;
  return `The queue pair is in state ${nameOf(QpState, state)}: ${needed}`;
}
