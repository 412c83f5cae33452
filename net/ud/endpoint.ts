import { ProviderTable } from "../../internal/provider_table.ts";
import {
  type AhAttrInit,
  CompletionChannel,
  CompletionQueue,
  type Gid,
  Grh,
  Mtu,
  mtuBytes,
  QpType,
  QueuePair,
  WorkCompletionList,
} from "../../mod.ts";
import { BATCH } from "../shared/completions.ts";
import type { DeviceUse } from "../shared/device_use.ts";
import type { UdSettings } from "./ud_options.ts";

/** The longest message of one packet, whatever the MTU of this port is: a peer on a link with a larger one sends it. */
const LONGEST = mtuBytes(Mtu[4096]);

/** The queues of datagrams, which differ between devices and transports. */
export interface Endpoint {
  /** The transport in addresses. */
  readonly transport: string;
  /** Whether each message arrives, or the completion of its send reports why not. */
  readonly isReliable: boolean;
  readonly qp: QueuePair;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  /** The batch that the queue of the receives is polled into. */
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

/** What a provider does differently with datagrams. What is left out is the same. */
export interface UdProvider {
  /** Makes the queues of datagrams, ready to send. */
  readonly makeEndpoint?:
    | ((device: DeviceUse, settings: UdSettings) => Endpoint)
    | undefined;
  /** The attributes of the handle that reaches a GID. */
  readonly attrOf?: ((portNum: number, dgid: Gid) => AhAttrInit) | undefined;
  /**
   * Whether completions name senders by the numbers of their address handles, as those of a reply path without a GRH do. A
   * handle is then made at once, and kept as long as a datagram may have its number.
   */
  readonly namesHandles?: boolean | undefined;
  /**
   * Why the RDMA communication manager does not know the device, so that there are no multicast groups and no addresses.
   */
  readonly unmanaged?: string | undefined;
}

export const udProviders: ProviderTable<UdProvider> = new ProviderTable();

/** Makes the queues of datagrams, ready to send. */
export function makeEndpoint(device: DeviceUse, settings: UdSettings): Endpoint {
  const { context } = device;
  const make = udProviders.of(context.device)?.makeEndpoint;
  if (make !== undefined) return make(device, settings);
  const sendCq = new CompletionQueue(context, eventful(device, settings.sendDepth));
  const recvCq = new CompletionQueue(context, eventful(device, settings.recvDepth));
  const maxMessage = mtuBytes(context.queryPort(settings.portNum).activeMtu);
  const batch = new WorkCompletionList(BATCH);
  return udEndpoint(device, settings, { sendCq, recvCq, batch }, maxMessage, LONGEST);
}

/** An endpoint of unreliable datagrams, on the queues of a provider. */
export function udEndpoint(
  { pd }: DeviceUse,
  { portNum, qkey, pkeyIndex, ...depths }: UdSettings,
  queues: Pick<Endpoint, "sendCq" | "recvCq" | "batch">,
  maxMessage: number,
  longest: number,
): Endpoint {
  const overflow = Math.max(longest - maxMessage, 0);
  const { sendCq, recvCq } = queues;
  const cap = capOf(depths, overflow);
  const qp = new QueuePair(pd, { sendCq, recvCq, cap, qpType: QpType.UD });
  const activate = (): void => qp.activateUd({ portNum, qkey, pkeyIndex });
  activate();
  const lengths = { headroom: Grh.SIZE, maxMessage, maxReceived: maxMessage, overflow };
  return { transport: "UD", isReliable: false, ...queues, ...lengths, qp, activate };
}

/** The attributes of a completion queue that has events. It ends with its channel. */
export function eventful(
  device: DeviceUse,
  cqe: number,
): { readonly cqe: number; readonly channel: CompletionChannel } {
  return { cqe, channel: device.own(new CompletionChannel(device.context)) };
}

/** The sizes of the queues of a queue pair. */
export function capOf(
  { sendDepth, recvDepth }: Pick<UdSettings, "sendDepth" | "recvDepth">,
  overflow: number,
): { readonly maxSendWr: number; readonly maxRecvWr: number; readonly maxRecvSge: number } {
  return { maxSendWr: sendDepth, maxRecvWr: recvDepth, maxRecvSge: overflow > 0 ? 2 : 1 };
}
