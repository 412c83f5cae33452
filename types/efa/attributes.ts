import { constants, type Structs, structs } from "../../ffi/layout.ts";
import { allocStruct, readField } from "../../ffi/struct.ts";
import { AddressHandle } from "../address_handle/address_handle.ts";
import { type AttributeCodec, codecOf } from "../core/attributes.ts";
import { instance } from "../core/checks.ts";
import { Context } from "../device/context.ts";
import { MemoryRegion } from "../memory/memory_region.ts";
import { callEfa } from "./call.ts";

/**
 * What an Elastic Fabric Adapter can do, combined with `|` in `EfaDeviceAttr.deviceCaps`.
 *
 * @category Devices and ports
 */
export const EfaDeviceCaps: {
  /** SRD queue pairs read memory of peers. */
  readonly RDMA_READ: 1;
  /** SRD queue pairs have `rnrRetry`: how often they try again if the peer has no receive. */
  readonly RNR_RETRY: 2;
  /** Completion queues report the GID of an unknown sender: `EfaCompletionQueue`. */
  readonly CQ_WITH_SGID: 4;
  /** SRD queue pairs write memory of peers. */
  readonly RDMA_WRITE: 8;
  /** RDMA writes with immediate data need no receive. */
  readonly UNSOLICITED_WRITE_RECV: 16;
  /** Completion queues can be in memory of another device, by a dma-buf. */
  readonly CQ_WITH_EXT_MEM_DMABUF: 32;
  /** The device has completion counters. */
  readonly COMP_CNTR: 64;
} = {
  RDMA_READ: constants.EFADV_DEVICE_ATTR_CAPS_RDMA_READ,
  RNR_RETRY: constants.EFADV_DEVICE_ATTR_CAPS_RNR_RETRY,
  CQ_WITH_SGID: constants.EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID,
  RDMA_WRITE: constants.EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE,
  UNSOLICITED_WRITE_RECV: constants.EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV,
  CQ_WITH_EXT_MEM_DMABUF: constants.EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF,
  COMP_CNTR: constants.EFADV_DEVICE_ATTR_CAPS_COMP_CNTR,
};

/**
 * Attributes of an Elastic Fabric Adapter (`struct efadv_device_attr`).
 *
 * @category Devices and ports
 */
export interface EfaDeviceAttr {
  /** The most sends of a queue pair. */
  readonly maxSqWr: number;
  /** The most receives of a queue pair. */
  readonly maxRqWr: number;
  /** The most scatter/gather elements of a send. */
  readonly maxSqSge: number;
  /** The most scatter/gather elements of a receive. */
  readonly maxRqSge: number;
  /** The most bytes of inline data. */
  readonly inlineBufSize: number;
  /** The most bytes of inline data where the send queue has larger entries; 0 if the installed libefa does not report it. */
  readonly inlineBufSizeEx: number;
  /** `EfaDeviceCaps`, combined. */
  readonly deviceCaps: number;
  /** The largest RDMA read or write in bytes. */
  readonly maxRdmaSize: number;
}

const deviceAttr: AttributeCodec<EfaDeviceAttr> = codecOf(
  "efadv_device_attr",
  "attributes of an Elastic Fabric Adapter",
  {
    ...{ maxSqWr: {}, maxRqWr: {}, maxSqSge: {}, maxRqSge: {} },
    ...{ inlineBufSize: {}, inlineBufSizeEx: {}, deviceCaps: {}, maxRdmaSize: {} },
  },
);

/** The struct that a function of libefa fills in for an object. */
function query<H>(
  name: "efadv_query_device" | "efadv_query_ah" | "efadv_query_mr",
  action: string,
  handle: H,
  layout: keyof Structs,
): DataView<ArrayBuffer> {
  const view = allocStruct(structs[layout]);
  callEfa(name, action, [handle, view, view.byteLength] as never);
  return view;
}

/**
 * Asks an Elastic Fabric Adapter what it can do (`efadv_query_device`).
 *
 * @throws {TypeError} If the context is disposed.
 * @throws {Deno.errors.NotFound} If there is no libefa. The message names the package that has it.
 * @throws {VerbsError} EOPNOTSUPP if the device is another one.
 *
 * @experimental It has only run on a stub adapter, and on no hardware.
 * @category Devices and ports
 */
export function queryEfaDevice(context: Context): EfaDeviceAttr {
  const { unsafeHandle } = instance(context, Context, "context");
  const action = "query Elastic Fabric Adapter";
  return deviceAttr.read(query("efadv_query_device", action, unsafeHandle, "efadv_device_attr"));
}

/**
 * The number of an address handle on its device (`efadv_query_ah`), 16 bits. The completion of a receive has it as `slid`
 * if the sender is the peer of the handle. Handles of one protection domain to one GID may share a number.
 *
 * @throws {TypeError} If the handle is disposed.
 * @throws {Deno.errors.NotFound} If there is no libefa.
 * @throws {VerbsError} EOPNOTSUPP if the device is no Elastic Fabric Adapter.
 * @category Senders
 */
export function efaAhNumber(ah: AddressHandle): number {
  const { unsafeHandle } = instance(ah, AddressHandle, "ah");
  const view = query("efadv_query_ah", "query address handle", unsafeHandle, "efadv_ah_attr");
  return readField(view, structs.efadv_ah_attr.fields.ahn);
}

/**
 * The interconnects by which an Elastic Fabric Adapter reaches a memory region (`struct efadv_mr_attr`), by the numbers
 * that the driver gives them. One that the driver does not report is undefined.
 *
 * @category Memory
 */
export interface EfaMrAttr {
  /** For received messages. */
  readonly recvIcId: number | undefined;
  /** For the results of the program's own RDMA reads. */
  readonly rdmaReadIcId: number | undefined;
  /** For RDMA writes of peers. */
  readonly rdmaRecvIcId: number | undefined;
}

/**
 * Asks by which interconnects an Elastic Fabric Adapter reaches a memory region (`efadv_query_mr`).
 *
 * @throws {TypeError} If the region is disposed.
 * @throws {Deno.errors.NotFound} If there is no libefa.
 * @throws {VerbsError} EOPNOTSUPP if the device is no Elastic Fabric Adapter, or libefa is older than rdma-core 50; another
 * error if its driver does not report them.
 * @category Memory
 */
export function queryEfaMr(mr: MemoryRegion): EfaMrAttr {
  const { unsafeHandle } = instance(mr, MemoryRegion, "mr");
  const view = query("efadv_query_mr", "query memory region", unsafeHandle, "efadv_mr_attr");
  const { fields } = structs.efadv_mr_attr;
  const valid = readField(view, fields.ic_id_validity);
  const ifValid = (
    bit: number,
    field: typeof fields.recv_ic_id | typeof fields.rdma_read_ic_id | typeof fields.rdma_recv_ic_id,
  ): number | undefined => valid & bit ? readField(view, field) : undefined;
  return {
    recvIcId: ifValid(constants.EFADV_MR_ATTR_VALIDITY_RECV_IC_ID, fields.recv_ic_id),
    rdmaReadIcId: ifValid(constants.EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID, fields.rdma_read_ic_id),
    rdmaRecvIcId: ifValid(constants.EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID, fields.rdma_recv_ic_id),
  };
}
