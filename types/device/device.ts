/**
 * RDMA devices and what they can do.
 *
 * @module
 */

import type { IbvDevice } from "../../ffi/handles.ts";
import { errno, errnoName } from "../../ffi/errno.ts";
import { enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { fieldBytes, readNative, structToObject } from "../../ffi/struct.ts";
import { checkHandle } from "../core/errors.ts";
import { type Members, members } from "../core/enums.ts";

/**
 * Kind of node a device is (`enum ibv_node_type`).
 *
 * - `CA`: channel adapter, which RoCE devices are too
 * - `SWITCH`, `ROUTER`: InfiniBand switch, router
 * - `RNIC`: iWARP adapter
 * - `USNIC`, `USNIC_UDP`: Cisco usNIC
 * - `UNSPECIFIED`: of none of these kinds
 * - `UNKNOWN`: not known to libibverbs
 */
export const NodeType: Members<typeof enums.ibv_node_type, "IBV_NODE_"> = members(
  enums.ibv_node_type,
  "IBV_NODE_",
);
/** A value of {@linkcode NodeType}. */
export type NodeType = typeof NodeType[keyof typeof NodeType];

/**
 * Transport of a device (`enum ibv_transport_type`).
 *
 * - `IB`: InfiniBand's, which RoCE uses too
 * - `IWARP`: iWARP
 * - `USNIC`, `USNIC_UDP`: Cisco usNIC
 * - `UNSPECIFIED`: of none of these kinds
 * - `UNKNOWN`: not known to libibverbs
 */
export const TransportType: Members<typeof enums.ibv_transport_type, "IBV_TRANSPORT_"> = members(
  enums.ibv_transport_type,
  "IBV_TRANSPORT_",
);
/** A value of {@linkcode TransportType}. */
export type TransportType = typeof TransportType[keyof typeof TransportType];

/** A device as the device list shows it, without opening it. */
export interface DeviceInfo {
  /** Name, such as `rxe0` or `mlx5_0`. */
  readonly name: string;
  /** Name of its character device, such as `uverbs0`. */
  readonly devName: string;
  /** GUID of the node, as a number; print it as 16 hexadecimal digits. */
  readonly guid: bigint;
  /** Its kernel index; -1 where the kernel does not tell. */
  readonly index: number;
  /** Kind of node. */
  readonly nodeType: NodeType;
  /** Transport. */
  readonly transportType: TransportType;
}

/** What a device can do (`struct ibv_device_attr`). Counts are upper limits; other users of the device share them. */
export interface DeviceAttr {
  /** Firmware version; empty where there is none. */
  readonly fwVer: string;
  /** GUID of the node. */
  readonly nodeGuid: bigint;
  /** GUID of the system image, shared by the devices of one board. */
  readonly sysImageGuid: bigint;
  /** Largest memory region in bytes. */
  readonly maxMrSize: bigint;
  /** Supported page sizes, one bit each: bit 12 is 4 KiB. */
  readonly pageSizeCap: bigint;
  /** IEEE OUI of the vendor. */
  readonly vendorId: number;
  /** The vendor's part number. */
  readonly vendorPartId: number;
  /** Hardware version. */
  readonly hwVer: number;
  /** Most queue pairs. */
  readonly maxQp: number;
  /** Most outstanding work requests on one queue of a queue pair. */
  readonly maxQpWr: number;
  /** Capabilities (`enum ibv_device_cap_flags`), combined. */
  readonly deviceCapFlags: number;
  /** Most scatter/gather elements in a work request. */
  readonly maxSge: number;
  /** Most scatter/gather elements in an RDMA read. */
  readonly maxSgeRd: number;
  /** Most completion queues. */
  readonly maxCq: number;
  /** Most entries in a completion queue. */
  readonly maxCqe: number;
  /** Most memory regions. */
  readonly maxMr: number;
  /** Most protection domains. */
  readonly maxPd: number;
  /** Most RDMA reads and atomics a queue pair serves at a time. */
  readonly maxQpRdAtom: number;
  /** The same for an end-to-end context. */
  readonly maxEeRdAtom: number;
  /** Resources for RDMA reads and atomics, in all. */
  readonly maxResRdAtom: number;
  /** Most RDMA reads and atomics a queue pair may have under way. */
  readonly maxQpInitRdAtom: number;
  /** The same for an end-to-end context. */
  readonly maxEeInitRdAtom: number;
  /** Atomicity of atomics (`enum ibv_atomic_cap`): 0 none, 1 within the device, 2 with the CPU too. */
  readonly atomicCap: number;
  /** Most end-to-end contexts. */
  readonly maxEe: number;
  /** Most reliable datagram domains. */
  readonly maxRdd: number;
  /** Most memory windows. */
  readonly maxMw: number;
  /** Most raw IPv6 queue pairs. */
  readonly maxRawIpv6Qp: number;
  /** Most raw Ethertype queue pairs. */
  readonly maxRawEthyQp: number;
  /** Most multicast groups. */
  readonly maxMcastGrp: number;
  /** Most queue pairs in one multicast group. */
  readonly maxMcastQpAttach: number;
  /** Most attachments to multicast groups, in all. */
  readonly maxTotalMcastQpAttach: number;
  /** Most address handles. */
  readonly maxAh: number;
  /** Most fast memory regions. */
  readonly maxFmr: number;
  /** Most mappings of a fast memory region. */
  readonly maxMapPerFmr: number;
  /** Most shared receive queues. */
  readonly maxSrq: number;
  /** Most outstanding work requests on a shared receive queue. */
  readonly maxSrqWr: number;
  /** Most scatter/gather elements in a receive of a shared receive queue. */
  readonly maxSrqSge: number;
  /** Entries in the P_Key table. */
  readonly maxPkeys: number;
  /** Delay of an acknowledgement, as an exponent: 4.096 us * 2^n. */
  readonly localCaAckDelay: number;
  /** Number of ports. */
  readonly physPortCnt: number;
}

/** Reads a `struct ibv_device_attr`. */
export function readDeviceAttr(view: DataView<ArrayBuffer>, base = 0): DeviceAttr {
  const { fw_ver } = structs.ibv_device_attr.fields;
  return {
    fwVer: cString(fieldBytes(view, fw_ver, base)),
    ...structToObject(view, structs.ibv_device_attr, base),
  } as DeviceAttr;
}

/**
 * The RDMA devices of the system (`ibv_get_device_list`); empty where there are none.
 *
 * @throws {VerbsError} If the list cannot be had.
 */
export function listDevices(): DeviceInfo[] {
  return withDeviceList((devices) => devices.map(describeDevice));
}

/** Calls back with the device list, which lives as long as the call. */
export function withDeviceList<T>(use: (devices: IbvDevice[]) => T): T {
  const count = new Int32Array(1);
  const list = verbs().ibv_get_device_list(count);
  // without any RDMA module loaded the kernel answers ENOSYS
  if (list === null && errnoName(errno()) === "ENOSYS") return use([]);
  const array = checkHandle("ibv_get_device_list", "list devices", list);
  try {
    return use(pointers(array, count[0]!));
  } finally {
    verbs().ibv_free_device_list(array);
  }
}

function pointers(array: Deno.PointerObject, count: number): IbvDevice[] {
  const view = new Deno.UnsafePointerView(array);
  const { size } = structs.ibv_cq.fields.context;
  return Array.from({ length: count }, (_, i) => view.getPointer(i * size) as IbvDevice);
}

/** Describes a device of the list. */
export function describeDevice(device: IbvDevice): DeviceInfo {
  const { fields } = structs.ibv_device;
  return {
    name: deviceName(device),
    devName: Deno.UnsafePointerView.getCString(device, fields.dev_name.offset),
    guid: swapBytes(verbs().ibv_get_device_guid(device)),
    index: verbs().ibv_get_device_index(device),
    nodeType: readNative(device, fields.node_type) as NodeType,
    transportType: readNative(device, fields.transport_type) as TransportType,
  };
}

/** The name of a device of the list. */
export function deviceName(device: IbvDevice): string {
  return Deno.UnsafePointerView.getCString(verbs().ibv_get_device_name(device)!);
}

function swapBytes(value: bigint): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value, true);
  return view.getBigUint64(0);
}

function cString(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}
