import { isEfa } from "../../internal/efa.ts";
import { nameOf } from "../core/enums.ts";
import type { Context } from "../device/context.ts";
import type { QpAttrInit, QpCap } from "./qp_attr.ts";
import { QpState, QpType } from "./qp_enums.ts";
import type { QpInitAttributes } from "./qp_init_attr.ts";
import { requiredFor } from "./activation.ts";

export function hintCreate(
  code: string,
  context: Context,
  init: QpInitAttributes,
): string | undefined {
  if (code === "EPERM") {
    return init.type === QpType.RAW_PACKET
      ? "Raw packet queue pairs take the capability CAP_NET_RAW"
      : undefined;
  }
  if (code === "EOPNOTSUPP" && isEfa(context.device)) return EFA_TYPES;
  if (init.rwqIndTbl !== undefined || init.rxHashConf !== undefined) return hintRss(code);
  return code === "EINVAL" || code === "ENOMEM" ? hintLimits(context, init.cap) : undefined;
}

const EFA_TYPES = "Elastic Fabric Adapters have queue pairs of type UD, and reliable datagrams: " +
  "SrdQueuePair of @rdma/ibverbs/efa. Each has receives of its own";

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
  if (code === "EPERM" && given.qkey !== undefined && given.qkey >= PRIVILEGED_QKEY) {
    return "A qkey with the highest bit set takes the capability CAP_NET_RAW: use a smaller one, such as 0x11111111";
  }
  return code === "EINVAL" ? explainTransition(type, from, given) : undefined;
}

/** From here on qkeys are for the kernel and for privileged programs. */
const PRIVILEGED_QKEY = 0x8000_0000;

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

/** The transitions that have required attributes. */
const PREVIOUS: { readonly [to: number]: QpState } = { [INIT]: RESET, [RTR]: INIT, [RTS]: RTR };

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

/** The likely cause of a post that was refused. */
export function hintPost(
  code: string,
  state: QpState,
  what: "sends" | "receives",
): string | undefined {
  if (code === "ENOMEM") {
    return "The queue is full, or the request has too many scatter/gather elements";
  }
  const tooEarly: readonly QpState[] = what === "sends" ? [RESET, INIT, RTR] : [RESET];
  if (code !== "EINVAL" || !tooEarly.includes(state)) return undefined;
  const needed = what === "sends" ? "RTS" : "INIT";
  return `The queue pair is in state ${nameOf(QpState, state)}: ${what} need ${needed}`;
}
