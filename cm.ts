/**
 * Connections by address: two programs find each other by IP addresses and make a connection (`librdmacm`, the RDMA
 * communication manager). It works with the queue pairs of `@rdma/ibverbs`, and with peers in any language that use
 * librdmacm. It needs `--allow-ffi`, and the system's librdmacm on first use.
 *
 * This program listens, connects to itself, and ends the connection:
 *
 * ```ts
 * import { CompletionQueue, Context, ProtectionDomain, QpType, QueuePair } from "@rdma/ibverbs";
 * import { CmEventType, CmId, EventChannel } from "@rdma/ibverbs/cm";
 *
 * using channel = new EventChannel();
 * using listener = new CmId(channel);
 * listener.bindAddr({ hostname: "10.0.0.1", port: 0 });
 * listener.listen();
 *
 * using context = Context.open(listener.device!.name);
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 16 });
 * const cap = { maxSendWr: 8, maxRecvWr: 8 };
 * const init = { qpType: QpType.RC, sendCq: cq, recvCq: cq, cap };
 *
 * async function serve(): Promise<void> {
 *   for await (const { event, id, conn } of channel) {
 *     if (event !== CmEventType.CONNECT_REQUEST) continue;
 *     console.log(`request with ${new TextDecoder().decode(conn!.privateData.subarray(0, 5))}`);
 *     using qp = new QueuePair(pd, init);
 *     await id.accept(qp);
 *     await id.disconnected();
 *     return id.close();
 *   }
 * }
 *
 * const served = serve();
 * using client = new CmId(channel);
 * await client.resolveAddr({ hostname: "10.0.0.1", port: listener.srcPort });
 * await client.resolveRoute();
 * using qp = new QueuePair(pd, init);
 * await client.connect(qp, { privateData: new TextEncoder().encode("hello") });
 * await client.establish();
 * console.log(`answered: ${await client.disconnect({ timeout: 5000 })}`);
 * await served;
 * ```
 *
 * On a host with a soft-RoCE device that has this address it prints:
 *
 * ```text
 * request with hello
 * answered: true
 * ```
 *
 * **Objects.** An `EventChannel` delivers events, and a `CmId` is one end of a connection, or a listener. Closing the
 * channel closes its ids. The queue pairs, their completion queues and memory belong to the program: an id only moves a
 * queue pair from state to state. The types of `@rdma/ibverbs` are exported here too.
 *
 * **Where to go next.**
 *
 * - The address of a host by its name: `getAddrInfo`.
 * - Datagrams: `new CmId(channel, PortSpace.UDP)`; groups: `CmId.joinMulticast`.
 * - What a connection can send to its peer: `ConnParamInit`.
 * - What can go wrong: `CmError`; wrong arguments and refusals throw as in `@rdma/ibverbs`.
 *
 * @module
 */

import "./types/providers.ts";

export type { AbortOptions } from "./wait/abort.ts";
export { REJECT_REASONS, SIDR_STATUSES } from "./internal/cm_reasons.ts";
export {
  type AddrInfo,
  AddrInfoFlags,
  type AddrInfoHints,
  getAddrInfo,
} from "./types/cm/addr_info.ts";
export {
  type CmEvent,
  CmId,
  EventChannel,
  type JoinMulticastOptions,
  type RejectOptions,
  type ResolveAddrOptions,
} from "./types/cm/cm_id.ts";
export type { CmOptions } from "./types/cm/cm_options.ts";
export type { ConnParam, ConnParamInit, UdParam } from "./types/cm/conn_param.ts";
export { CmEventType, type CmState, PortSpace } from "./types/cm/enums.ts";
export { CmError } from "./types/cm/errors.ts";
export { eventStr } from "./types/cm/functions.ts";
export type { ResolveOptions } from "./types/cm/resolve_options.ts";
export { nameOf } from "./types/core/enums.ts";
export { VerbsError } from "./types/core/errors.ts";
export type { SocketAddress } from "./types/cm/socket_address.ts";
