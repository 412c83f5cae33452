/**
 * Elastic Fabric Adapters, the network devices of a large cloud: what they have beyond verbs (`libefa`, `efadv.h`). They
 * work with the classes of `@rdma/ibverbs`. The module needs `--allow-ffi`, and the system's libefa on first use.
 *
 * EFA has no GRH. Instead, the completion of a message has the number of an address handle that the receiver already
 * has for the sender, or else the sender's GID. `ReplyPath` reads both, from completions of an `EfaCompletionQueue`;
 * its methods that take a batch need an `EfaWorkCompletionList`.
 *
 * This function answers messages of peers that it does not know:
 *
 * ```ts
 * import { AccessFlags, type Context, MemoryRegion, ProtectionDomain, ReplyPath, WcOpcode } from "@rdma/ibverbs";
 * import { EfaCompletionQueue, SrdQueuePair } from "@rdma/ibverbs/efa";
 *
 * async function echo(context: Context, remoteQkey: number): Promise<void> {
 *   using pd = new ProtectionDomain(context);
 *   using cq = new EfaCompletionQueue(context, { cqe: 64 });
 *   const cap = { maxSendWr: 16, maxRecvWr: 16 };
 *   using qp = new SrdQueuePair(pd, { sendCq: cq, recvCq: cq, cap });
 *   qp.activate({ qkey: remoteQkey });
 *   using mr = new MemoryRegion(pd, 8192, AccessFlags.LOCAL_WRITE);
 *   using path = new ReplyPath(pd, { portNum: 1 });
 *
 *   qp.postRecv({ sge: mr.sge(0, 8192) });
 *   for await (const wc of cq.completions()) {
 *     if (wc.check().opcode === WcOpcode.SEND) {
 *       qp.postRecv({ sge: mr.sge(0, 8192) });
 *       continue;
 *     }
 *     const ah = await path.toAsync(wc);
 *     qp.postSend({ sge: mr.sge(0, wc.byteLen), ah, remoteQpn: wc.srcQp, remoteQkey });
 *   }
 * }
 * ```
 *
 * It is tested with the real libibverbs and libefa on adapters that a kernel module simulates, and never on hardware.
 *
 * **Where to go next.**
 *
 * - Reliable datagrams: `SrdQueuePair`. For UD, `QueuePair` of `@rdma/ibverbs` works as on other devices.
 * - Who has sent a message: `ReplyPath` of `@rdma/ibverbs`, `EfaWorkCompletion`, `efaAhNumber`.
 * - What the device can do: `queryEfaDevice`.
 *
 * @module
 */

export {
  efaAhNumber,
  type EfaDeviceAttr,
  EfaDeviceCaps,
  type EfaMrAttr,
  queryEfaDevice,
  queryEfaMr,
} from "./types/efa/attributes.ts";
export {
  EfaCompletionQueue,
  EfaWorkCompletion,
  EfaWorkCompletionList,
} from "./types/efa/efa_completion_queue.ts";
export { VerbsError } from "./types/core/errors.ts";
export { EFA_UNKNOWN_SENDER } from "./types/efa/senders.ts";
export { type SrdActivation, type SrdInitAttr, SrdQueuePair } from "./types/efa/srd_queue_pair.ts";
