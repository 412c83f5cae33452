import type { Optional } from "../../internal/optional.ts";
import { FIRST_MULTICAST_LID } from "../../internal/ports.ts";
import { type Gid, gidFrom } from "../address/gid.ts";
import { ABOVE_LIMIT, aboveLimit, causeOf, type Causes, type Words } from "../core/causes.ts";
import { nameOf } from "../core/enums.ts";
import { addressCause, LINK_DOWN, linkDown } from "../device/address_hints.ts";
import type { Context } from "../device/context.ts";
import { LinkLayer, longestDatagram, mtuBytes, type PortAttr } from "../device/port.ts";
import { providerCause } from "../device/provider_facts.ts";
import type { QpAttr, QpModifyAttr } from "./qp_attr.ts";
import { QpAttrMask, QpState, QpType } from "./qp_enums.ts";
import type { AnyQpInitAttr } from "./qp_init_attr.ts";
import { requiredFor } from "./activation.ts";

/** The attributes of a queue pair that could not be made. */
interface Making {
  readonly context: Context;
  readonly init: AnyQpInitAttr;
}

export const CREATE_CAUSES: Causes<Making> = [
  [
    "EPERM",
    "Raw packet queue pairs need the capability CAP_NET_RAW",
    ({ init }) => init.qpType === QpType.RAW_PACKET,
  ],
  [
    "EINVAL, EOPNOTSUPP",
    "RSS, where the device has it, needs qpType RAW_PACKET, both rwqIndTbl and rxHashConf, a key of 40 bytes, " +
    "and a combination of fields that the device knows",
    ({ init }) => init.rwqIndTbl !== undefined || init.rxHashConf !== undefined,
  ],
  ["EINVAL, ENOMEM", ABOVE_LIMIT, capAboveLimit],
  [
    "EINVAL",
    "cap.maxInlineData {maxInlineData} may be too large: no verb reports the limit of a device. Try fewer bytes",
    ({ init: { cap } }) => cap?.maxInlineData !== undefined && cap.maxInlineData > 0 && { ...cap },
  ],
];

/** Why a queue pair was likely not made. */
export function createCause(code: string, making: Making): string | undefined {
  return providerCause(making.context.device, "queuePair", code) ??
    causeOf(CREATE_CAUSES, code, making);
}

function capAboveLimit({ context, init: { cap = {} } }: Making): Words | undefined {
  const { maxQpWr, maxSge } = context.queryDevice();
  return aboveLimit([
    ["cap.maxSendWr", cap.maxSendWr, maxQpWr],
    ["cap.maxRecvWr", cap.maxRecvWr, maxQpWr],
    ["cap.maxSendSge", cap.maxSendSge, maxSge],
    ["cap.maxRecvSge", cap.maxRecvSge, maxSge],
  ]);
}

/** A change of a queue pair that was refused. */
interface Change {
  readonly qpType: QpType;
  readonly context: Context;
  readonly from: QpState;
  readonly given: QpModifyAttr;
}

export const MODIFY_CAUSES: Causes<Change> = [
  [
    "EPERM",
    "A qkey with the highest bit set needs the capability CAP_NET_RAW: use a smaller one, such as 0x11111111",
    ({ given: { qkey = 0 } }) => qkey >= PRIVILEGED_QKEY,
  ],
  [
    "EINVAL",
    "A queue pair cannot go from {from} to {to}: it goes from RESET to INIT, RTR and RTS",
    wrongWay,
  ],
  ["EINVAL", "{from} to {to} also needs {missing}", lacking],
  [
    "EINVAL",
    "RAW_PACKET needs an Ethernet port, and port {portNum} is none",
    ({ qpType, context, given: { portNum } }) =>
      qpType === QpType.RAW_PACKET && portNum !== undefined &&
      context.queryPort(portNum).linkLayer !== LinkLayer.ETHERNET && { portNum },
  ],
  [
    "EOPNOTSUPP",
    "A queue pair with an indirection table (rwqIndTbl) only receives: it stays in RTR",
    ({ qpType, given }) => qpType === QpType.RAW_PACKET && given.qpState === QpState.RTS,
  ],
  ["EINVAL", ABOVE_LIMIT, ({ context, given }) => {
    const { maxQpInitRdAtom, maxQpRdAtom } = context.queryDevice();
    return aboveLimit([
      ["maxRdAtomic", given.maxRdAtomic, maxQpInitRdAtom],
      ["maxDestRdAtomic", given.maxDestRdAtomic, maxQpRdAtom],
    ]);
  }],
  [
    "EINVAL",
    "{attribute} {index} is too large: the P_Key table of the port has {pkeyTblLen} entries, from index 0",
    beyondPkeys,
  ],
  [
    "EINVAL",
    "pathMtu {given} is above the active MTU of the port, {active}",
    (change) => {
      const { activeMtu } = portOf(change) ?? {};
      const { pathMtu } = change.given;
      return activeMtu !== undefined && pathMtu !== undefined && pathMtu > activeMtu &&
        { given: mtuBytes(pathMtu), active: mtuBytes(activeMtu) };
    },
  ],
];

/** Why a device likely refused a change, or the address in it. */
export function hintModify(code: string, change: Change): string | undefined {
  const { context, given: { ahAttr, altAhAttr } } = change;
  const hints = [ahAttr, altAhAttr].map((address) => {
    if (address === undefined) return undefined;
    const grh = address.grh && { ...address.grh, dgid: gidFrom(address.grh.dgid, "dgid") };
    return addressCause(code, { ...address, grh, context });
  });
  return causeOf(MODIFY_CAUSES, code, change) ?? hints[0] ?? hints[1];
}

/** The port of a change, if that names it. */
function portOf({ context, given: { portNum, ahAttr } }: Change): PortAttr | undefined {
  const number = portNum ?? ahAttr?.portNum;
  return number === undefined ? undefined : context.queryPort(number);
}

/** The first index that is beyond the P_Key table of its port, of both paths. */
function beyondPkeys(change: Change): Words | undefined {
  const { context, given } = change;
  const { altPortNum: portNum, altAhAttr: ahAttr, pkeyIndex = 0, altPkeyIndex = 0 } = given;
  const other = { context, given: { portNum, ahAttr } } as Change;
  const paths = [["pkeyIndex", pkeyIndex, change], ["altPkeyIndex", altPkeyIndex, other]] as const;
  for (const [attribute, index, path] of paths) {
    const { pkeyTblLen = Infinity } = portOf(path) ?? {};
    if (index >= pkeyTblLen) return { attribute, index, pkeyTblLen };
  }
  return undefined;
}

/** A group that was not joined or left. */
interface Group {
  readonly qpType: QpType;
  readonly context: Context;
  readonly gid: Gid;
  readonly lid: number;
  /** Whether the queue pair is in the group; undefined if that does not matter. */
  readonly hasJoined?: boolean | undefined;
}

export const GROUP_CAUSES: Causes<Group> = [
  [
    "EINVAL",
    "Only queue pairs of type UD join multicast groups",
    ({ qpType }) => qpType !== QpType.UD,
  ],
  [
    "EINVAL",
    "{gid} is no multicast GID: those begin with ff, and those of IPv4 with ::ffff:224 to ::ffff:239",
    ({ gid }) => !gid.isMulticast,
  ],
  [
    "EINVAL",
    "The queue pair has not joined this group with this LID",
    ({ hasJoined }) => hasJoined === false,
  ],
  [
    "EINVAL",
    "A group of InfiniBand has a LID from 0xc000 on, which the subnet manager gives, and lid is {lid}",
    ({ context, lid }) =>
      lid < FIRST_MULTICAST_LID && context.queryPort(1).linkLayer === LinkLayer.INFINIBAND &&
      { lid },
  ],
];

/** Qkeys from this one on are for the kernel and for privileged programs. */
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

function namesOf({ from, given: { qpState } }: Change): Words {
  return { from: nameOf(QpState, from), to: nameOf(QpState, qpState!) };
}

/** The names of the two states of a transition that does not exist. */
function wrongWay(change: Change): Words | undefined {
  const { from, given: { qpState: to } } = change;
  const always = to === RESET || (to === ERR && from !== RESET);
  const leads = to === undefined || always || (NEXT[from]?.includes(to) ?? true);
  return leads ? undefined : namesOf(change);
}

/** The attributes that a transition also needs. */
function lacking(change: Change): Words | undefined {
  const { qpType, from, given } = change;
  const to = given.qpState;
  if (to === undefined || PREVIOUS[to] !== from) return undefined;
  const missing = requiredFor(qpType, to).filter((name) => given[name] === undefined);
  return missing.length === 0 ? undefined : { ...namesOf(change), missing: missing.join(", ") };
}

/** A queue pair whose request failed, as the device knows it. */
interface Unsent extends Optional<Pick<QpAttr, "portNum" | "ahAttr">> {
  readonly qpType: QpType;
  readonly context: Context;
}

/** Why a request has failed, if it can be seen from the port of its queue pair or the address that it sends from. */
export const UNSENT_CAUSES: Causes<Unsent> = [
  [
    "LOC_LEN_ERR",
    "The datagram does not fit into the posted receive, which needs 40 more bytes for the GRH, or it is longer than one " +
    "packet of port {portNum}: {longest} bytes",
    ({ qpType, context, portNum = 0 }) =>
      qpType === QpType.UD && portNum !== 0 &&
      { portNum, longest: longestDatagram(context.queryPort(portNum)) },
  ],
  [
    "LOC_LEN_ERR",
    "The message does not fit into the posted receive, or it is longer than {maxMsgSz} bytes, the longest message of " +
    "port {portNum} (maxMsgSz)",
    ({ context, portNum = 0 }) => portNum !== 0 && { ...context.queryPort(portNum), portNum },
  ],
  [
    "LOC_QP_OP_ERR, RETRY_EXC_ERR",
    LINK_DOWN,
    ({ context, portNum = 0 }) => portNum === 0 ? undefined : linkDown(context, portNum),
  ],
  [
    "LOC_QP_OP_ERR, RETRY_EXC_ERR",
    "GID index {index} of port {portNum} of {device} is empty: the address that the queue pair sends from is gone. " +
    "Give it back to the network interface, and connect again",
    ({ context, portNum = 0, ahAttr }) => {
      const index = ahAttr?.grh?.sgidIndex;
      if (portNum === 0 || index === undefined) return undefined;
      const isUsed = context.queryGidTable(portNum).some(({ gidIndex }) => gidIndex === index);
      return !isUsed && { index, portNum, device: context.device.name };
    },
  ],
];

/** A queue that refused a post: the state of its queue pair, and how many requests it has room for. */
interface Queue {
  readonly state: QpState;
  readonly size: number;
}

export const SEND_CAUSES: Causes<Queue> = [
  [
    "ENOMEM",
    "The queue is full: it takes {size} sends, and a place is free again when the completion of its send, or of a " +
    "later one, was polled. Sends that are not signaled have none: a queue that is full of them never has a place again",
  ],
  [
    "EINVAL",
    "The queue pair is in state {name}: sends need RTS, to which activateRc() and the like move it, or " +
    "CmId.establish() and CmId.accept()",
    ({ state }) => state < RTS && { name: nameOf(QpState, state) },
  ],
];

export const RECV_CAUSES: Causes<Queue> = [
  [
    "ENOMEM",
    "The queue is full: it takes {size} receives, and a place is free again when the completion of its receive was " +
    "polled",
  ],
  [
    "EINVAL",
    "The queue pair is in state RESET: receives need INIT, to which init() moves it, or CmId.prepare()",
    ({ state }) => state === RESET,
  ],
];

export const QUERY_CAUSES: Causes<{ readonly mask: number }> = [
  [
    "EOPNOTSUPP",
    "RATE_LIMIT and the bits above it can be set, but not queried",
    ({ mask }) => mask >= QpAttrMask.RATE_LIMIT,
  ],
];

export const COUNTER_CAUSES: Causes = [["EBUSY", "One of the operations has a counter"]];

export const DESTROY_CAUSES: Causes = [
  ["EBUSY", "It is still in a multicast group, or another object uses it"],
];
