/** The state machine of queue pairs, to explain transitions that a device refuses. */

import { nameOf } from "../core/enums.ts";
import type { QpAttrInit } from "./qp_attr.ts";
import { QpState, QpType } from "./qp_enums.ts";

type Attributes = readonly (keyof QpAttrInit)[];

const { RESET, INIT, RTR, RTS, SQD, SQE, ERR } = QpState;

/**
 * The states that each state leads to. Every state leads to RESET, and every state but RESET to ERR: Linux refuses to move
 * from RESET to ERR, which the InfiniBand specification allows.
 */
const NEXT: { readonly [from: number]: readonly QpState[] } = {
  [RESET]: [INIT],
  [INIT]: [INIT, RTR],
  [RTR]: [RTS],
  [RTS]: [RTS, SQD],
  [SQD]: [SQD, RTS],
  [SQE]: [RTS],
  [ERR]: [],
};

const CONNECTED_INIT: Attributes = ["pkeyIndex", "portNum", "qpAccessFlags"];
const CONNECTED_RTR: Attributes = ["ahAttr", "pathMtu", "destQpNum", "rqPsn"];
const RESPONDER_RTR: Attributes = [...CONNECTED_RTR, "maxDestRdAtomic", "minRnrTimer"];
const REQUESTER_RTS: Attributes = ["sqPsn", "timeout", "retryCnt", "rnrRetry", "maxRdAtomic"];

/** The attributes that the InfiniBand specification requires on the way from RESET to RTS, by the state to move to. */
const REQUIRED: { readonly [type: number]: { readonly [to: number]: Attributes } | undefined } = {
  [QpType.UD]: { [INIT]: ["pkeyIndex", "portNum", "qkey"], [RTS]: ["sqPsn"] },
  [QpType.UC]: { [INIT]: CONNECTED_INIT, [RTR]: CONNECTED_RTR, [RTS]: ["sqPsn"] },
  [QpType.RC]: { [INIT]: CONNECTED_INIT, [RTR]: RESPONDER_RTR, [RTS]: REQUESTER_RTS },
  [QpType.XRC_SEND]: { [INIT]: CONNECTED_INIT, [RTR]: CONNECTED_RTR, [RTS]: REQUESTER_RTS },
  [QpType.XRC_RECV]: { [INIT]: CONNECTED_INIT, [RTR]: RESPONDER_RTR, [RTS]: ["sqPsn", "timeout"] },
  [QpType.RAW_PACKET]: { [INIT]: ["portNum"] },
};

/** The transitions that have required attributes. */
const PREVIOUS: { readonly [to: number]: QpState } = { [INIT]: RESET, [RTR]: INIT, [RTS]: RTR };

/** The attributes that a type of queue pair needs on the way from RESET to RTS to move to a state. */
export function requiredFor(type: QpType, to: QpState): readonly (keyof QpAttrInit)[] {
  return REQUIRED[type]?.[to] ?? [];
}

/** Why a device likely refused a transition; `undefined` if the transition and its attributes are right. */
export function explainTransition(
  type: QpType,
  from: QpState,
  given: QpAttrInit,
): string | undefined {
  const to = given.qpState;
  if (to === undefined) return undefined;
  const names = `${nameOf(QpState, from)} to ${nameOf(QpState, to)}`;
  const always = to === RESET || (to === ERR && from !== RESET);
  if (!always && NEXT[from] !== undefined && !NEXT[from].includes(to)) {
    return `A queue pair cannot go from ${names}: it goes from RESET to INIT, RTR and RTS`;
  }
  if (PREVIOUS[to] !== from) return undefined;
  const missing = requiredFor(type, to).filter((name) => given[name] === undefined);
  return missing.length === 0 ? undefined : `${names} also needs ${missing.join(", ")}`;
}
