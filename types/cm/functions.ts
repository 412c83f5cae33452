import type { IbvContext, IbvDevice, RdmaCmId, RdmaEventChannel } from "../../ffi/handles.ts";
import { structs } from "../../ffi/layout.ts";
import { handleAt, readCString } from "../../ffi/pointers.ts";
import { rdmacm } from "../../ffi/rdmacm.ts";
import { readNative } from "../../ffi/struct.ts";
import { integer, uint32 } from "../../internal/checks.ts";
import type { NativeResource } from "../core/native_resource.ts";
import { describeDevice, type DeviceInfo } from "../device/device.ts";
import { type CmEventType, PortSpace } from "./enums.ts";
import { callCm, hintNoDevice } from "./errors.ts";

/** The device of a context that librdmacm has opened. */
export function deviceInfoOf(context: IbvContext): DeviceInfo {
  const device = readNative(context, structs.ibv_context.fields.device);
  return describeDevice(handleAt<IbvDevice>(device)!);
}

/**
 * Makes an id on a channel.
 *
 * @throws {RangeError} If there is no such port space.
 * @throws {VerbsError} If the system refuses.
 */
export function createId(
  channel: NativeResource<RdmaEventChannel>,
  portSpace: PortSpace,
): RdmaCmId {
  const known = Object.values<number>(PortSpace);
  if (!known.includes(integer(portSpace, "portSpace", 0, 0xffff_ffff))) {
    throw new RangeError(`Cannot use portSpace ${portSpace}: it is none of ${known.join(", ")}`);
  }
  const id = new BigUint64Array(1);
  const args = [channel.unsafeHandle, id, 0n, portSpace] as const;
  callCm("rdma_create_id", "create connection identifier", args, { hint: hintNoDevice });
  return handleAt<RdmaCmId>(id[0]!)!;
}

/**
 * The text of librdmacm for a kind of event (`rdma_event_str`), such as `"RDMA_CM_EVENT_ESTABLISHED"`.
 *
 * @throws {RangeError} If it is no 32-bit integer.
 * @category Events
 */
export function eventStr(type: CmEventType): string {
  return readCString(rdmacm().rdma_event_str(uint32(type, "type"))!);
}
