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

export type { AbortOptions } from "./types/abandonable.ts";
export { AddressHandle } from "./types/address_handle.ts";
export {
  type AhAttr,
  type AhAttrInit,
  type GlobalRoute,
  type GlobalRouteInit,
} from "./types/ah_attr.ts";
export { CompletionChannel } from "./types/completion_channel.ts";
export { CompletionQueue, type CompletionsOptions, type CqInit } from "./types/completion_queue.ts";
export { Context } from "./types/context.ts";
export {
  type DeviceAttr,
  type DeviceInfo,
  listDevices,
  NodeType,
  TransportType,
} from "./types/device.ts";
export type {
  CqModCaps,
  DeviceAttrEx,
  OdpCaps,
  PacketPacingCaps,
  PciAtomicCaps,
  RssCaps,
  TmCaps,
  TsoCaps,
} from "./types/device_attr_ex.ts";
export { VerbsError, type VerbsErrorOptions } from "./types/errors.ts";
export { Gid, type GidEntry, GidType } from "./types/gid.ts";
export { Grh, type Ipv4Header } from "./types/grh.ts";
export { formatAddress, parseAddress } from "./types/ip_address.ts";
export type { Members } from "./types/members.ts";
export {
  AccessFlags,
  MemoryRegion,
  MemorySlice,
  type MemorySource,
  type Sge,
} from "./types/memory_region.ts";
export { LinkLayer, Mtu, mtuBytes, type PortAttr, PortState } from "./types/port.ts";
export { ProtectionDomain } from "./types/protection_domain.ts";
export {
  MigState,
  type QpAttr,
  type QpAttrInit,
  QpAttrMask,
  type QpCap,
  QpState,
  QpType,
} from "./types/qp_attr.ts";
export { QpCreateFlags, type QpInitEx, SendOpsFlags } from "./types/qp_init_ex.ts";
export { type QpInit, type QpQuery, QueuePair, type UdActivation } from "./types/queue_pair.ts";
export { RecvRequests } from "./types/recv_requests.ts";
export { ReplyPath, type ReplyPathInit } from "./types/reply_path.ts";
export { RequestList } from "./types/request_list.ts";
export { Resource } from "./types/resource.ts";
export {
  MAX_RSS_INPUT,
  type RssFlow,
  rssInput,
  type RssInputOptions,
  writeRssInput,
} from "./types/rss_flow.ts";
export {
  RwqIndirectionTable,
  type RwqIndirectionTableInit,
} from "./types/rwq_indirection_table.ts";
export { RxHash, RxHashFields, RxHashFunction, type RxHashInit } from "./types/rx_hash.ts";
export { SendRequests } from "./types/send_requests.ts";
export { microsoftRssKey, toeplitz, ToeplitzKey } from "./types/toeplitz.ts";
export {
  type WcAddress,
  WcFlags,
  WcOpcode,
  WcStatus,
  WorkCompletion,
  WorkCompletionError,
} from "./types/work_completion.ts";
export { WorkCompletions } from "./types/work_completions.ts";
export {
  WorkQueue,
  type WqAttrInit,
  WqFlags,
  type WqInit,
  WqState,
  WqType,
} from "./types/work_queue.ts";
export {
  type RecvRequest,
  type RequestsInit,
  SendFlags,
  type SendRequest,
  type SgeList,
  WrOpcode,
} from "./types/work_request.ts";
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
