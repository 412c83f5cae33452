import { isEfa } from "../../internal/efa.ts";
import { FIRST_MULTICAST_LID } from "../../internal/ports.ts";
import type { Gid } from "../address/gid.ts";
import { nameOf } from "../core/enums.ts";
import { hintAddress } from "../device/address_hints.ts";
import type { Context } from "../device/context.ts";
import { LinkLayer, mtuBytes, PortState } from "../device/port.ts";
import type { QpAttr, QpAttrInit, QpCap } from "./qp_attr.ts";
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
  const { maxSendWr = 0, maxRecvWr = 0, maxSendSge = 0, maxRecvSge = 0, maxInlineData = 0 } = cap;
  const within = Math.max(maxSendWr, maxRecvWr) <= maxQpWr &&
    Math.max(maxSendSge, maxRecvSge) <= maxSge;
  if (within) {
    return maxInlineData > 0
      ? `cap.maxInlineData ${maxInlineData} may be too large: no verb tells the limit of a device. Try fewer bytes`
      : undefined;
  }
  return `The device allows ${maxQpWr} work requests, ${maxSge} scatter/gather elements, ${maxQp} queue pairs`;
}

export function hintModify(
  code: string,
  { type, context }: { readonly type: QpType; readonly context: Context },
  from: QpState,
  given: QpAttrInit,
): string | undefined {
  if (code === "EPERM" && given.qkey !== undefined && given.qkey >= PRIVILEGED_QKEY) {
    return "A qkey with the highest bit set takes the capability CAP_NET_RAW: use a smaller one, such as 0x11111111";
  }
  const { ahAttr } = given;
  return (code === "EINVAL" ? explainTransition(type, from, given) : undefined) ??
    (code === "EINVAL" || code === "ENOMEM" ? hintValue(context, given) : undefined) ??
    (ahAttr === undefined ? undefined : hintAddress(code, context, ahAttr));
}

/** The attribute that is above what the device or the port allows. */
function hintValue(context: Context, given: QpAttrInit): string | undefined {
  const { maxQpInitRdAtom, maxQpRdAtom } = context.queryDevice();
  const portNum = given.portNum ?? given.ahAttr?.portNum;
  const port = portNum === undefined ? undefined : context.queryPort(portNum);
  const limits: [name: keyof QpAttrInit, most: number | undefined, of: string][] = [
    ["maxRdAtomic", maxQpInitRdAtom, "the device allows"],
    ["maxDestRdAtomic", maxQpRdAtom, "the device allows"],
    ["pkeyIndex", port && port.pkeyTblLen - 1, "the P_Key table of the port has index"],
  ];
  for (const [name, most, of] of limits) {
    const value = given[name] as number | undefined;
    if (most !== undefined && value !== undefined && value > most) {
      return `${name} ${value} is too large: ${of} 0 to ${most}`;
    }
  }
  if (port === undefined || given.pathMtu === undefined || given.pathMtu <= port.activeMtu) {
    return undefined;
  }
  return `pathMtu ${mtuBytes(given.pathMtu)} is above the active MTU of the port, ${
    mtuBytes(port.activeMtu)
  }`;
}

/** Why a queue pair cannot join or leave a multicast group. */
export function hintGroup(
  code: string,
  { type, context }: { readonly type: QpType; readonly context: Context },
  gid: Gid,
  lid: number,
  hasJoined: boolean | undefined,
): string | undefined {
  if (code !== "EINVAL") return undefined;
  if (type !== QpType.UD) return "Only queue pairs of type UD join multicast groups";
  if (!gid.isMulticast) return `${gid} is no multicast GID: those begin with ff`;
  if (hasJoined === false) return "The queue pair has not joined this group with this LID";
  const isInfiniBand = context.queryPort(1).linkLayer === LinkLayer.INFINIBAND;
  return isInfiniBand && lid < FIRST_MULTICAST_LID
    ? `A group of InfiniBand has a LID from 0xc000 on, which the subnet manager gives, and lid is ${lid}`
    : undefined;
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

/** The statuses of requests that may not have left the host. */
const UNSENT = ["LOC_QP_OP_ERR", "RETRY_EXC_ERR"];

/** What is wrong with the port or the address that a queue pair sends from, if that may be why a request has failed. */
export function hintUnsent(
  code: string,
  context: Context,
  { portNum = 0, ahAttr }: Partial<QpAttr>,
): string | undefined {
  if (!UNSENT.includes(code) || portNum === 0) return undefined;
  const port = `ort ${portNum} of ${context.device.name}`;
  const { state } = context.queryPort(portNum);
  if (state !== PortState.ACTIVE) {
    return `P${port} is ${nameOf(PortState, state)}: nothing is sent while its link is down`;
  }
  const index = ahAttr?.grh?.sgidIndex;
  if (index === undefined) return undefined;
  if (context.gidTable(portNum).some(({ gidIndex }) => gidIndex === index)) return undefined;
  return `GID index ${index} of p${port} is empty: the address that the queue pair sends from is gone. ` +
    "Give it back to the network interface, and connect again";
}

/** The likely cause of a post that was refused. */
export function hintPost(
  code: string,
  state: QpState,
  what: "sends" | "receives",
  size: number,
): string | undefined {
  if (code === "ENOMEM") {
    const full = `The queue is full: it takes ${size} ${what}, and a place is free again when `;
    return full +
      (what === "receives"
        ? "the completion of its receive was polled"
        : "the completion of its send, or of a later one, was polled. Sends that are not signaled have none: a queue " +
          "that is full of them never has a place again");
  }
  const tooEarly: readonly QpState[] = what === "sends" ? [RESET, INIT, RTR] : [RESET];
  if (code !== "EINVAL" || !tooEarly.includes(state)) return undefined;
  const needed = what === "sends" ? "RTS" : "INIT";
  return `The queue pair is in state ${nameOf(QpState, state)}: ${what} need ${needed}`;
}
