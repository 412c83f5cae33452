import { cutTo, toCaller } from "../../internal/caller.ts";
import { errno, errnoName } from "../../ffi/errno.ts";
import { descriptorErrno } from "../../ffi/host.ts";
import type { IbvContext, IbvDevice } from "../../ffi/handles.ts";
import { type CEnum, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { handleAt, readCString, readPointers } from "../../ffi/pointers.ts";
import { readNative } from "../../ffi/struct.ts";
import { failure } from "../core/errors.ts";
import { guidText, nameIn, shown } from "../core/shown.ts";

/**
 * Kind of node that a device is (`enum ibv_node_type`).
 *
 * @category Devices and ports
 */
export const NodeType: {
  /** Libibverbs does not know the kind. */
  readonly UNKNOWN: CEnum.ibv_node_type.IBV_NODE_UNKNOWN;
  /** Channel adapter; RoCE devices are channel adapters too. */
  readonly CA: CEnum.ibv_node_type.IBV_NODE_CA;
  /** InfiniBand switch. */
  readonly SWITCH: CEnum.ibv_node_type.IBV_NODE_SWITCH;
  /** InfiniBand router. */
  readonly ROUTER: CEnum.ibv_node_type.IBV_NODE_ROUTER;
  /** iWARP adapter. */
  readonly RNIC: CEnum.ibv_node_type.IBV_NODE_RNIC;
  /** Cisco usNIC. */
  readonly USNIC: CEnum.ibv_node_type.IBV_NODE_USNIC;
  /** Cisco usNIC over UDP. */
  readonly USNIC_UDP: CEnum.ibv_node_type.IBV_NODE_USNIC_UDP;
  /** None of these kinds. */
  readonly UNSPECIFIED: CEnum.ibv_node_type.IBV_NODE_UNSPECIFIED;
} = members("ibv_node_type", "IBV_NODE_");
/**
 * A value of `NodeType`.
 *
 * @category Devices and ports
 */
export type NodeType = typeof NodeType[keyof typeof NodeType];

/**
 * Transport of a device (`enum ibv_transport_type`).
 *
 * @category Devices and ports
 */
export const TransportType: {
  /** Libibverbs does not know the transport. */
  readonly UNKNOWN: CEnum.ibv_transport_type.IBV_TRANSPORT_UNKNOWN;
  /** InfiniBand transport; RoCE devices use it too. */
  readonly IB: CEnum.ibv_transport_type.IBV_TRANSPORT_IB;
  /** iWARP. */
  readonly IWARP: CEnum.ibv_transport_type.IBV_TRANSPORT_IWARP;
  /** Cisco usNIC. */
  readonly USNIC: CEnum.ibv_transport_type.IBV_TRANSPORT_USNIC;
  /** Cisco usNIC over UDP. */
  readonly USNIC_UDP: CEnum.ibv_transport_type.IBV_TRANSPORT_USNIC_UDP;
  /** None of these transports. */
  readonly UNSPECIFIED: CEnum.ibv_transport_type.IBV_TRANSPORT_UNSPECIFIED;
} = members("ibv_transport_type", "IBV_TRANSPORT_");
/**
 * A value of `TransportType`.
 *
 * @category Devices and ports
 */
export type TransportType = typeof TransportType[keyof typeof TransportType];

/**
 * A device in the device list. The device need not be open.
 *
 * @category Devices and ports
 */
export interface DeviceInfo {
  /** Name, such as `rxe0` or `mlx5_0`. */
  readonly name: string;
  /** Name of the character device, such as `uverbs0`. */
  readonly devName: string;
  /** GUID of the node as a number. Its usual text form has 16 hexadecimal digits. */
  readonly guid: bigint;
  /** Index of the device in the kernel; -1 if the kernel does not report it. */
  readonly index: number;
  /** Kind of node. */
  readonly nodeType: NodeType;
  /** Transport. */
  readonly transportType: TransportType;
}

/**
 * The RDMA devices of the system (`ibv_get_device_list`). The list is empty if there are none:
 * `Context.open()` throws the reason then.
 *
 * The order is that of libibverbs. A process that lists devices again gets those that came in the meantime first; a
 * process that starts later gets them at another place. Programs that need a certain device choose it by its name.
 *
 * @throws {VerbsError} If the system does not provide the list.
 *
 * @example Print the names of all devices
 * ```ts
 * import { listDevices } from "@rdma/ibverbs";
 *
 * for (const { name, guid } of listDevices()) console.log(name, guid.toString(16));
 * ```
 *
 * @category Devices and ports
 */
export function listDevices(): DeviceInfo[] {
  return withDeviceList((devices) => devices.map(describeDevice));
}

/** Calls a function with the device list. The list is freed when the function returns or throws. */
export function withDeviceList<T>(use: (devices: IbvDevice[]) => T): T {
  const count = new Int32Array(1);
  const list = verbs().ibv_get_device_list(count);
  if (list === null) {
    // ENOSYS: no RDMA module is loaded, or libibverbs had no descriptor to look for one.
    const isMissing = errnoName(errno()) === "ENOSYS";
    const value = isMissing ? descriptorErrno() : errno();
    if (isMissing && value === 0) return cutTo(withDeviceList, () => use([]));
    throw failure("ibv_get_device_list", "list devices", value);
  }
  try {
    return use(readPointers(list, count[0]!) as IbvDevice[]);
  } catch (error) {
    throw toCaller(error, withDeviceList);
  } finally {
    verbs().ibv_free_device_list(list);
  }
}

/** Describes a device of the list. */
export function describeDevice(device: IbvDevice): DeviceInfo {
  const { fields } = structs.ibv_device;
  return shown({
    name: deviceName(device),
    devName: readCString(device, fields.dev_name.offset),
    guid: swapBytes(verbs().ibv_get_device_guid(device)),
    index: verbs().ibv_get_device_index(device),
    nodeType: readNative(device, fields.node_type) as NodeType,
    transportType: readNative(device, fields.transport_type) as TransportType,
  }, { guid: guidText, nodeType: nameIn(NodeType), transportType: nameIn(TransportType) });
}

/** Describes the device of an imported context. The context has no owner yet: it is closed if that fails. */
export function describeImported(context: IbvContext): DeviceInfo {
  const device = readNative(context, structs.ibv_context.fields.device);
  try {
    return describeDevice(handleAt<IbvDevice>(device)!);
  } catch (error) {
    verbs().ibv_close_device(context);
    throw error;
  }
}

/** The name of a device of the list. */
export function deviceName(device: IbvDevice): string {
  const name = verbs().ibv_get_device_name(device);
  if (name !== null) return readCString(name);
  throw failure("ibv_get_device_name", "read name of device", 0);
}

function swapBytes(value: bigint): bigint {
  return new DataView(BigUint64Array.of(value).buffer).getBigUint64(0);
}
