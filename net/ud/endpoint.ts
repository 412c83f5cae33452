import { EfaCompletionQueue, EfaWorkCompletionList, SrdQueuePair } from "../../efa.ts";
import { isEfa } from "../../internal/efa.ts";
import {
  CompletionChannel,
  CompletionQueue,
  Grh,
  listDevices,
  mtuBytes,
  type ProtectionDomain,
  QpType,
  QueuePair,
  WorkCompletionList,
} from "../../mod.ts";
import { BATCH } from "../shared/pump.ts";
import type { UdSettings } from "./ud_options.ts";

/** What datagrams go over, which differs between devices and transports. */
export interface Endpoint {
  readonly qp: QueuePair;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  /** What the queue of the receives is polled into. */
  readonly batch: WorkCompletionList;
  /** The bytes of a receive before its message. */
  readonly headroom: number;
  /** The longest message in bytes. */
  readonly maxMessage: number;
  /** Moves the queue pair from RESET to RTS. */
  readonly activate: () => void;
}

/** Makes what datagrams go over, ready to send. */
export function makeEndpoint(pd: ProtectionDomain, settings: UdSettings): Endpoint {
  const { context } = pd;
  const { portNum: port, transport, sendDepth, recvDepth } = settings;
  const isAdapter = isEfa(context.device);
  const queue = (cqe: number): { cqe: number; channel: CompletionChannel } => ({
    cqe,
    channel: new CompletionChannel(context),
  });
  const sendCq = new CompletionQueue(context, queue(sendDepth));
  const recvCq = new (isAdapter ? EfaCompletionQueue : CompletionQueue)(context, queue(recvDepth));
  const cap = { maxSendWr: sendDepth, maxRecvWr: recvDepth };
  const { qp, activate } = makeQp(pd, { sendCq, recvCq, cap }, settings);
  activate();
  const { activeMtu, maxMsgSz } = context.queryPort(port);
  return {
    ...{ qp, sendCq, recvCq, activate },
    batch: new (isAdapter ? EfaWorkCompletionList : WorkCompletionList)(BATCH),
    headroom: transport === "SRD" ? 0 : Grh.SIZE,
    maxMessage: isAdapter ? maxMsgSz : mtuBytes(activeMtu),
  };
}

function makeQp(
  pd: ProtectionDomain,
  init: ConstructorParameters<typeof SrdQueuePair>[1],
  { portNum, qkey, pkeyIndex, transport, rnrRetry }: UdSettings,
): Pick<Endpoint, "qp" | "activate"> {
  if (transport === "UD") {
    const qp = new QueuePair(pd, { ...init, type: QpType.UD });
    return { qp, activate: () => qp.activateUd({ portNum, qkey, pkeyIndex }) };
  }
  const qp = new SrdQueuePair(pd, init);
  const retry = rnrRetry === undefined ? {} : { rnrRetry };
  return { qp, activate: () => qp.activate({ portNum, qkey, pkeyIndex, ...retry }) };
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
