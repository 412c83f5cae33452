/**
 * RDMA verbs for Deno: binds the system's libibverbs by FFI. Every object is a class that `using` disposes; attributes
 * carry the names of `verbs.h` in camelCase.
 *
 * ```ts
 * import { AccessFlags, Context, QpType } from "@rdma/ibverbs";
 *
 * using context = Context.open();
 * using pd = context.allocPd();
 * using cq = context.createCq({ cqe: 16 });
 * const cap = { maxSendWr: 8, maxRecvWr: 8 };
 * using qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq, cap });
 * qp.activateUd({ port: 1, qkey: 0x1111_1111 });
 * using mr = pd.registerMemory(4096, AccessFlags.LOCAL_WRITE);
 * qp.postRecv({ wrId: 0n, sge: mr.slice(0, 40 + 1024) });
 * for await (const wc of cq.completions()) {
 *   using ah = pd.createAhFromWc(wc.check(), mr.grhAt(0), 1);
 *   const sge = mr.slice(40, wc.byteLen - 40);
 *   qp.postSend({ wrId: 1n, sge, ah, remoteQpn: wc.srcQp, remoteQkey: 0x1111_1111 });
 *   break;
 * }
 * ```
 *
 * @module
 */

export type { AbortOptions } from "./types/core/abortable.ts";
export { AddressHandle } from "./types/address_handle/address_handle.ts";
export {
  type AhAttr,
  type AhAttrInit,
  type GlobalRoute,
  type GlobalRouteInit,
} from "./types/address/ah_attr.ts";
export { CompletionChannel } from "./types/completion/completion_channel.ts";
export { CompletionQueue, type CompletionsOptions, type CqInit } from "./types/completion/completion_queue.ts";
export { Context } from "./types/device/context.ts";
export {
  type DeviceAttr,
  type DeviceInfo,
  listDevices,
  NodeType,
  TransportType,
} from "./types/device/device.ts";
export type {
  CqModCaps,
  DeviceAttrEx,
  OdpCaps,
  PacketPacingCaps,
  PciAtomicCaps,
  RssCaps,
  TmCaps,
  TsoCaps,
} from "./types/device/device_attr_ex.ts";
export { VerbsError, type VerbsErrorOptions } from "./types/core/errors.ts";
export { Gid, type GidEntry, GidType } from "./types/address/gid.ts";
export { Grh, type Ipv4Header } from "./types/address/grh.ts";
export { formatAddress, parseAddress } from "./types/address/ip_address.ts";
export type { Members } from "./types/core/enums.ts";
export {
  AccessFlags,
  MemoryRegion,
  MemorySlice,
  type MemorySource,
  type Sge,
} from "./types/memory/memory_region.ts";
export { LinkLayer, Mtu, mtuBytes, type PortAttr, PortState } from "./types/device/port.ts";
export { ProtectionDomain } from "./types/memory/protection_domain.ts";
export {
  MigState,
  type QpAttr,
  type QpAttrInit,
  QpAttrMask,
  type QpCap,
  QpState,
  QpType,
} from "./types/queue_pair/qp_attr.ts";
export { QpCreateFlags, type QpInitEx, SendOpsFlags } from "./types/queue_pair/qp_init_attr.ts";
export { type QpInit, type QpQuery, QueuePair, type UdActivation } from "./types/queue_pair/queue_pair.ts";
export { RecvRequests } from "./types/work/recv_requests.ts";
export { ReplyPath, type ReplyPathInit } from "./types/reply/reply_path.ts";
export { RequestList } from "./types/work/request_list.ts";
export { Resource } from "./types/core/resource.ts";
export {
  MAX_RSS_INPUT,
  type RssFlow,
  rssInput,
  type RssInputOptions,
  writeRssInput,
} from "./types/rss/rss_flow.ts";
export {
  RwqIndirectionTable,
  type RwqIndirectionTableInit,
} from "./types/rss/rwq_indirection_table.ts";
export { RxHash, RxHashFields, RxHashFunction, type RxHashInit } from "./types/rss/rx_hash.ts";
export { SendRequests } from "./types/work/send_requests.ts";
export { microsoftRssKey, toeplitz, ToeplitzKey } from "./types/rss/toeplitz.ts";
export {
  type WcAddress,
  WcFlags,
  WcOpcode,
  WcStatus,
  WorkCompletion,
  WorkCompletionError,
} from "./types/completion/work_completion.ts";
export { WorkCompletions } from "./types/completion/work_completions.ts";
export {
  WorkQueue,
  type WqAttrInit,
  WqFlags,
  type WqInit,
  WqState,
  WqType,
} from "./types/rss/work_queue.ts";
export {
  type RecvRequest,
  type RequestsInit,
  SendFlags,
  type SendRequest,
  type SgeList,
  WrOpcode,
} from "./types/work/work_request.ts";
export { constants, enums } from "./ffi/layout.ts";
export type {
  Handle,
  IbvAh,
  IbvCompChannel,
  IbvContext,
  IbvCq,
  IbvMr,
  IbvPd,
  IbvQp,
  IbvRwqIndTable,
  IbvWq,
} from "./ffi/handles.ts";
