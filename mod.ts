/**
 * RDMA verbs for Deno. The module binds the system's libibverbs with Deno FFI. It works with any device that has a
 * Linux kernel driver and a libibverbs provider (the library of the device). It needs `--allow-ffi` and nothing else.
 *
 * **Install.** It needs Linux on x86-64 or aarch64, Deno 2.7.12 or newer, and libibverbs:
 *
 * ```sh
 * deno add jsr:@rdma/ibverbs
 * sudo apt-get install libibverbs1 ibverbs-providers    # on Debian and Ubuntu
 * deno run --allow-ffi main.ts
 * ```
 *
 * Without a device, run the program in a small virtual machine, which has one in software. The machine has no network,
 * so fill Deno's cache first:
 *
 * ```sh
 * deno cache main.ts
 * deno run -A jsr:@rdma/rxe -- deno run --allow-ffi main.ts
 * ```
 *
 * An RDMA device reads and writes the memory of a program directly, and sends it over the network. A program makes
 * objects, posts requests, and gets a completion for each request. This program waits for one datagram and sends it
 * back:
 *
 * ```ts
 * import {
 *   AccessFlags,
 *   AddressHandle,
 *   CompletionQueue,
 *   Context,
 *   MemoryRegion,
 *   ProtectionDomain,
 *   QpType,
 *   QueuePair,
 *   WcOpcode,
 * } from "@rdma/ibverbs";
 *
 * using context = Context.open(); // the first device with an active port
 * using pd = new ProtectionDomain(context);
 * using cq = new CompletionQueue(context, { cqe: 16 });
 * const cap = { maxSendWr: 8, maxRecvWr: 8 };
 * const init = { qpType: QpType.UD, sendCq: cq, recvCq: cq, cap };
 * using qp = new QueuePair(pd, init);
 * qp.activateUd({ portNum: 1, qkey: 0x1111_1111 });
 * using mr = new MemoryRegion(pd, 4096, AccessFlags.LOCAL_WRITE);
 * qp.postRecv({ sge: mr.sge(0, 40 + 1024) }); // 40 bytes: the GRH
 * for await (const wc of cq.completions()) {
 *   if (wc.check().opcode === WcOpcode.SEND) break; // the reply is sent
 *   const grh = mr.grhAt(0);
 *   console.log(`${wc.byteLen - 40} bytes from ${grh.sgid}`);
 *   using ah = AddressHandle.fromWc(pd, 1, wc, grh);
 *   const sge = mr.sge(40, wc.byteLen - 40);
 *   qp.postSend({ sge, ah, remoteQpn: wc.srcQp, remoteQkey: 0x1111_1111 });
 * }
 * ```
 *
 * When a datagram arrives, it prints for instance:
 *
 * ```text
 * 5 bytes from ::ffff:10.0.0.1
 * ```
 *
 * **Objects.** There is a class for each kind of verbs object. The constructor takes what the object is made from, as
 * the C function does. Declare objects with `using`. Disposing an object first disposes the objects that were made from
 * it.
 *
 * ```text
 * Context                   an open device
 *   CompletionQueue         the results of requests
 *   ProtectionDomain        objects that may be used together
 *     MemoryRegion          memory that the device reads and writes
 *     QueuePair             sends and receives
 *     AddressHandle         the address of a peer, for datagrams
 *     ReplyPath             the address handles of known senders
 *     SharedReceiveQueue    receives for several queue pairs
 *     WorkQueue             a receive queue, for receive side scaling
 *   RwqIndirectionTable     which work queue receives which packets
 * ```
 *
 * A queue pair and a work queue also need a completion queue.
 *
 * **Names.** Classes, attributes and enums have the names of `verbs.h`. Attributes are in camelCase:
 * `ah_attr.grh.sgid_index` is `ahAttr.grh.sgidIndex`. Enum members have no prefix: `IBV_QPT_UD` is `QpType.UD`.
 *
 * **Errors.** A verb that fails throws a `VerbsError` with its errno and, where the cause is known, a hint. A wrong
 * argument throws before the verb is called: a TypeError for a value of the wrong type, a missing or unknown attribute,
 * and a disposed object; a RangeError for a number out of range. A failed completion does not throw: call
 * `WorkCompletion.check`.
 *
 * **Speed.** Requests can be objects, or prepared once in native layout (`SendRequestList`,
 * `RecvRequestList`) and posted many times. Completions can be awaited as above, or polled one batch at a time
 * (`CompletionQueue.pollInto`).
 *
 * **Where to go next.** [RDMA on one page](docs/README.md#rdma-on-one-page) explains the terms; the
 * [examples](examples/README.md) are programs to start from.
 *
 * - Open a device, and look at its ports and GIDs: `Context`.
 * - Send and receive: `QueuePair`, `SendRequest`, `WorkCompletion`.
 * - Reply to datagrams: `AddressHandle.fromWc`, `initAhFromWc`; to those of many senders:
 *   `ReplyPath`.
 * - Receive side scaling: `WorkQueue`, `RwqIndirectionTable`, `RxHash`; the prediction of
 *   hashes: `@rdma/ibverbs/rss`.
 * - Connections by IP address: `@rdma/ibverbs/cm`.
 * - Reliable datagrams, and senders without a GRH, on Elastic Fabric Adapters: `@rdma/ibverbs/efa`.
 * - Messages without verbs: `@rdma/ibverbs/net`.
 * - The verbs with C's prototypes, without checks, and the types of handles: `@rdma/ibverbs/ffi`.
 *
 * @module
 */

import "./types/providers.ts";

export type { CEnum } from "./ffi/layout.ts";
export type { AhAttr, AhAttrInit, GlobalRouteInit } from "./types/address/ah_attr.ts";
export { Gid, type GidEntry, GidType } from "./types/address/gid.ts";
export { Grh } from "./types/address/grh.ts";
export { formatAddress, parseAddress } from "./types/address/ip_address.ts";
export { AddressHandle } from "./types/address_handle/address_handle.ts";
export {
  initAhFromWc,
  initAhFromWcAsync,
  resolveEthL2FromGid,
  resolveEthL2FromGidAsync,
} from "./types/address_handle/functions.ts";
export type { PacketOptions } from "./types/address_handle/packet.ts";
export {
  CompletionChannel,
  CompletionQueue,
  type CompletionsOptions,
  type CqInitAttr,
  type ModifyCqAttr,
  type WaitSyncOptions,
} from "./types/completion/completion_queue.ts";
export {
  CompletionQueueEx,
  type CqInitAttrEx,
  CreateCqAttrFlags,
} from "./types/completion/completion_queue_ex.ts";
export {
  CompCntrType,
  CompletionCounter,
  QpAttachCompCntrOp,
} from "./types/completion/completion_counter.ts";
export type { Completions } from "./types/completion/completions.ts";
export {
  type WcAddress,
  WcFlags,
  WcOpcode,
  WcStatus,
  wcStatusStr,
  WorkCompletion,
  WorkCompletionError,
} from "./types/completion/work_completion.ts";
export { WorkCompletionList } from "./types/completion/work_completion_list.ts";
export {
  CreateCqWcFlags,
  WorkCompletionEx,
  WorkCompletionListEx,
} from "./types/completion/work_completion_list_ex.ts";
export type { AbortOptions } from "./wait/abort.ts";
export type { Complete, Optional } from "./internal/optional.ts";
export type { Reach } from "./internal/reach.ts";
export type { PeerOptions } from "./types/core/abortable.ts";
export type { TimeoutOptions } from "./wait/deadline.ts";
export { nameOf, namesOf } from "./types/core/enums.ts";
export { VerbsError } from "./types/core/errors.ts";
export { NativeResource } from "./types/core/native_resource.ts";
export { Resource } from "./types/core/resource.ts";
export { type AsyncEvent, EventType } from "./types/device/async_events.ts";
export { Context } from "./types/device/context.ts";
export { type DeviceInfo, listDevices, NodeType, TransportType } from "./types/device/device.ts";
export { AtomicCap, type DeviceAttr, DeviceCapFlags } from "./types/device/device_attr.ts";
export {
  type CompCntrCaps,
  type DeviceAttrEx,
  isQptSupported,
  OdpGeneralCaps,
  OdpTransportCaps,
  PciAtomicOpSize,
  RawPacketCaps,
  type RtValuesEx,
  TmCapFlags,
} from "./types/device/device_attr_ex.ts";
export {
  eventTypeStr,
  flowLabelToUdpSport,
  forkInit,
  ForkStatus,
  isForkInitialized,
  mbpsToRate,
  multToRate,
  nodeTypeStr,
  portStateStr,
  Rate,
  rateToMbps,
  rateToMult,
} from "./types/device/functions.ts";
export {
  LinkLayer,
  Mtu,
  mtuBytes,
  type PortAttr,
  PortCapFlags,
  PortCapFlags2,
  PortFlags,
  PortState,
} from "./types/device/port.ts";
export type { RecommendedGid } from "./types/device/recommend_gid.ts";
export {
  type CounterAttachAttr,
  CounterDescription,
  Counters,
  ReadCountersFlags,
} from "./types/flow/counters.ts";
export { Flow, type FlowAttr, FlowAttrType, FlowFlags } from "./types/flow/flow.ts";
export {
  FlowActionEsp,
  type FlowActionEspAttr,
  FlowActionEspFlags,
} from "./types/flow/flow_action_esp.ts";
export { type FlowFilters, FlowSpecType } from "./types/flow/flow_filter.ts";
export type {
  FlowCountSpec,
  FlowDropSpec,
  FlowHandleSpec,
  FlowHeaderSpec,
  FlowSpec,
  FlowTagSpec,
} from "./types/flow/flow_spec.ts";
export { adviseMr, AdviseMrAdvice, AdviseMrFlags } from "./types/memory/advise_mr.ts";
export { AllocatedBuffer, AllocatedBufferRegion } from "./types/memory/allocated_buffer.ts";
export {
  type AllocDmAttr,
  DeviceMemory,
  DeviceMemoryRegion,
  type RegDmMrInit,
} from "./types/memory/device_memory.ts";
export { DmaHandle, type DmahInitAttr, TphMemType } from "./types/memory/dma_handle.ts";
export {
  type DmaBufInit,
  DmaBufMemoryRegion,
  NullMemoryRegion,
} from "./types/memory/foreign_regions.ts";
export { ImplicitMemoryRegion } from "./types/memory/implicit_memory_region.ts";
export {
  MemoryRegion,
  MemorySlice,
  type RemoteMemory,
  type Sge,
} from "./types/memory/memory_region.ts";
export { MemoryRegionEx, type MrInitAttr } from "./types/memory/memory_region_ex.ts";
export type { MemorySource } from "./types/memory/memory_source.ts";
export { incRkey, MemoryWindow, MwType } from "./types/memory/memory_window.ts";
export {
  ParentDomain,
  type ParentDomainInitAttr,
  ThreadDomain,
} from "./types/memory/parent_domain.ts";
export { ProtectionDomain } from "./types/memory/protection_domain.ts";
export { AccessFlags, type RegMrAsyncOptions, type RegMrOptions } from "./types/memory/reg_mr.ts";
export { type RegMrChange, reregMr } from "./types/memory/rereg_mr.ts";
export type {
  InitOptions,
  PathChoices,
  RcActivation,
  UcActivation,
  UdActivation,
} from "./types/queue_pair/activation.ts";
export type { MwBind } from "./types/queue_pair/bind_mw.ts";
export { OpenedQueuePair, type QpOpenAttr } from "./types/queue_pair/opened_queue_pair.ts";
export type { QpAddress } from "./types/queue_pair/qp_address.ts";
export type {
  Ece,
  QpAttr,
  QpCap,
  QpModifyAttr,
  QpRateLimitAttr,
} from "./types/queue_pair/qp_attr.ts";
export {
  DataInOrderCaps,
  DataInOrderFlags,
  MigState,
  PlacementType,
  QpAttrMask,
  QpCreateFlags,
  QpState,
  QpType,
  SelectivityLevel,
  SendOpsFlags,
} from "./types/queue_pair/qp_enums.ts";
export type { AnyQpInitAttr, QpInitAttr } from "./types/queue_pair/qp_init_attr.ts";
export type { QueriedQp } from "./types/queue_pair/qp_states.ts";
export { QueuePair } from "./types/queue_pair/queue_pair.ts";
export { type QpInitAttrEx, QueuePairEx } from "./types/queue_pair/queue_pair_ex.ts";
export { WrBuilder } from "./types/queue_pair/wr_builder.ts";
export { ReplyPath, type ReplyPathInit } from "./types/reply/reply_path.ts";
export type { RssFlow, RssInputOptions } from "./types/rss/rss_flow.ts";
export { RwqIndirectionTable } from "./types/rss/rwq_indirection_table.ts";
export { RxHash, RxHashFields, RxHashFunction, type RxHashInit } from "./types/rss/rx_hash.ts";
export { microsoftRssKey } from "./types/rss/toeplitz.ts";
export {
  WorkQueue,
  type WqAttr,
  WqFlags,
  type WqInitAttr,
  WqState,
  WqType,
} from "./types/rss/work_queue.ts";
export { SharedReceiveQueue } from "./types/srq/shared_receive_queue.ts";
export { type SrqAttr, type SrqInitAttr, SrqType } from "./types/srq/srq_attr.ts";
export { OpsFlags, type OpsWr, OpsWrOpcode } from "./types/srq/tag_matching.ts";
export { type XrcdInitAttr, XrcDomain } from "./types/srq/xrc_domain.ts";
export type { Receives } from "./types/work/posting.ts";
export { RecvRequestList, RequestList, SendRequestList } from "./types/work/requests.ts";
export {
  type MwBindInfo,
  type RecvRequest,
  type RequestListInit,
  type SendAttributes,
  SendFlags,
  type SendRequest,
  WrOpcode,
  wrOpcodeStr,
} from "./types/work/work_request.ts";
