import { EfaCompletionQueue, EfaWorkCompletionList, SrdQueuePair } from "../../efa.ts";
import { CompletionQueue } from "../../mod.ts";
import { BATCH } from "../shared/completions.ts";
import type { DeviceUse } from "../shared/device_use.ts";
import { capOf, type Endpoint, eventful, udEndpoint, type UdProvider } from "../ud/endpoint.ts";
import type { UdSettings } from "../ud/ud_options.ts";
import type { SrdSettings } from "./srd_options.ts";

/** The longest message of one packet: what jumbo frames of 9001 bytes leave. */
const LONGEST = 8928;

/** How datagrams use Elastic Fabric Adapters. */
export const EFA_DATAGRAMS: UdProvider = {
  makeEndpoint: (device, settings) => {
    checkFabric(settings);
    const queues = makeQueues(device, settings);
    return udEndpoint(device, settings, queues, longestOf(device, settings), LONGEST);
  },
  // An adapter has one GID. A reply path makes the same address from a sender's GID, so a peer has only one handle.
  attrOf: (portNum, dgid) => ({ portNum, grh: { dgid, sgidIndex: 0 } }),
  namesHandles: true,
  unmanaged: "the device is an Elastic Fabric Adapter",
};

/** Makes the endpoint of reliable datagrams, ready to send. */
export function makeSrdEndpoint(device: DeviceUse, settings: SrdSettings): Endpoint {
  const { portNum, qkey, pkeyIndex, rnrRetry, sl } = settings;
  const queues = makeQueues(device, settings);
  const { sendCq, recvCq } = queues;
  const maxMessage = longestOf(device, settings);
  const cap = capOf(settings, 0);
  const qp = new SrdQueuePair(device.pd, { sendCq, recvCq, cap, ...sl !== undefined && { sl } });
  const retry = rnrRetry === undefined ? {} : { rnrRetry };
  const activate = (): void => qp.activate({ portNum, qkey, pkeyIndex, ...retry });
  activate();
  // The sender of a reliable message knows that it has arrived, so that none is too long.
  const maxReceived = Math.max(maxMessage, LONGEST);
  const lengths = { headroom: 0, maxMessage, maxReceived, overflow: 0 };
  return { transport: "SRD", isReliable: true, ...queues, ...lengths, qp, activate };
}

function makeQueues(
  device: DeviceUse,
  { sendDepth, recvDepth }: UdSettings,
): Pick<Endpoint, "sendCq" | "recvCq" | "batch"> {
  const { context } = device;
  const sendCq = new CompletionQueue(context, eventful(device, sendDepth));
  const recvCq = new EfaCompletionQueue(context, eventful(device, recvDepth));
  return { sendCq, recvCq, batch: new EfaWorkCompletionList(BATCH) };
}

function longestOf({ context }: DeviceUse, { portNum }: UdSettings): number {
  return context.queryPort(portNum).maxMsgSz;
}

/** The datagrams of adapters have neither a class nor a level, and the kernel would ignore them. */
function checkFabric({ trafficClass, sl }: UdSettings): void {
  const given = trafficClass !== undefined ? "trafficClass" : sl !== undefined ? "sl" : undefined;
  if (given === undefined) return;
  throw new Deno.errors.NotSupported(
    `Cannot use ${given}: the device is an Elastic Fabric Adapter. listenSrd() takes sl`,
  );
}
