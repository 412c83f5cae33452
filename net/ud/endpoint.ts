import { EfaCompletionQueue, EfaWorkCompletionList, SrdQueuePair } from "../../efa.ts";
import { isEfa } from "../../internal/efa.ts";
import {
  CompletionChannel,
  CompletionQueue,
  Grh,
  listDevices,
  Mtu,
  mtuBytes,
  type ProtectionDomain,
  QpType,
  QueuePair,
  WorkCompletionList,
} from "../../mod.ts";
import { BATCH } from "../shared/completions.ts";
import type { UdSettings } from "./ud_options.ts";

/**
 * The longest message of one packet, whatever the MTU of this port is: a peer on a link with a larger one sends it. That of
 * adapters is what jumbo frames of 9001 bytes leave.
 */
const LONGEST = mtuBytes(Mtu[4096]);
const LONGEST_OF_EFA = 8928;

/** What datagrams go over, which differs between devices and transports. */
export interface Endpoint {
  readonly qp: QueuePair;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  /** What the queue of the receives is polled into. */
  readonly batch: WorkCompletionList;
  /** The bytes of a receive before its message. */
  readonly headroom: number;
  /** The longest message to send in bytes. */
  readonly maxMessage: number;
  /** The longest message that is received. */
  readonly maxReceived: number;
  /** The bytes of memory that the rest of a longer one is written to. Its receive would fail without them. */
  readonly overflow: number;
  /** Moves the queue pair from RESET to RTS. */
  readonly activate: () => void;
}

/** Makes what datagrams go over, ready to send. */
export function makeEndpoint(pd: ProtectionDomain, settings: UdSettings): Endpoint {
  const { context } = pd;
  checkFabric(context.device, settings);
  const { portNum: port, transport, sendDepth, recvDepth } = settings;
  const isAdapter = isEfa(context.device);
  const queue = (cqe: number): { cqe: number; channel: CompletionChannel } => ({
    cqe,
    channel: new CompletionChannel(context),
  });
  const sendCq = new CompletionQueue(context, queue(sendDepth));
  const recvCq = new (isAdapter ? EfaCompletionQueue : CompletionQueue)(context, queue(recvDepth));
  const { activeMtu, maxMsgSz } = context.queryPort(port);
  const maxMessage = isAdapter ? maxMsgSz : mtuBytes(activeMtu);
  const longest = Math.max(maxMessage, isAdapter ? LONGEST_OF_EFA : LONGEST);
  // The sender of a reliable message knows that it has arrived, so that it is not dropped.
  const maxReceived = transport === "SRD" ? longest : maxMessage;
  const overflow = longest - maxReceived;
  const cap = { maxSendWr: sendDepth, maxRecvWr: recvDepth, maxRecvSge: overflow > 0 ? 2 : 1 };
  const { qp, activate } = makeQp(pd, { sendCq, recvCq, cap }, settings);
  activate();
  return {
    ...{ qp, sendCq, recvCq, activate, maxMessage, maxReceived, overflow },
    batch: new (isAdapter ? EfaWorkCompletionList : WorkCompletionList)(BATCH),
    headroom: transport === "SRD" ? 0 : Grh.SIZE,
  };
}

function makeQp(
  pd: ProtectionDomain,
  init: ConstructorParameters<typeof SrdQueuePair>[1],
  { portNum, qkey, pkeyIndex, transport, rnrRetry, sl }: UdSettings,
): Pick<Endpoint, "qp" | "activate"> {
  if (transport === "UD") {
    const qp = new QueuePair(pd, { ...init, type: QpType.UD });
    return { qp, activate: () => qp.activateUd({ portNum, qkey, pkeyIndex }) };
  }
  const qp = new SrdQueuePair(pd, { ...init, ...sl !== undefined && { sl } });
  const retry = rnrRetry === undefined ? {} : { rnrRetry };
  return { qp, activate: () => qp.activate({ portNum, qkey, pkeyIndex, ...retry }) };
}

/** The datagrams of adapters have neither a class nor a level, and the kernel would ignore them. */
function checkFabric(
  device: Parameters<typeof isEfa>[0],
  { transport, trafficClass, sl }: UdSettings,
): void {
  if (transport === "SRD" || !isEfa(device)) return;
  const given = trafficClass !== undefined ? "trafficClass" : sl !== undefined ? "sl" : undefined;
  if (given === undefined) return;
  throw new Deno.errors.NotSupported(
    `Cannot use ${given}: the device is an Elastic Fabric Adapter. listenSrd() takes sl`,
  );
}

/**
 * The name of the device to open; undefined if that is the first one with an active port.
 *
 * @throws {Deno.errors.NotSupported} If it has no reliable datagrams.
 */
export function deviceOf({ transport, device }: UdSettings): string | undefined {
  if (transport === "UD") return device;
  const found = listDevices().find((one) =>
    device === undefined ? isEfa(one) : one.name === device
  );
  // What opens it tells that there is none of that name.
  if (found === undefined ? device !== undefined : isEfa(found)) return found?.name ?? device;
  const lacking = device === undefined ? "this host has" : `${device} is`;
  throw new Deno.errors.NotSupported(
    `Cannot listen for reliable datagrams (SRD): ${lacking} no Elastic Fabric Adapter, and no other device has them. ` +
      "listenUd() has datagrams that can be lost, listenRc() reliable connections",
  );
}
