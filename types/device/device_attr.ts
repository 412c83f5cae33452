import { structs } from "../../ffi/layout.ts";
import { type Members, members } from "../../ffi/members.ts";
import { fieldBytes } from "../../ffi/struct.ts";
import { readStruct } from "../core/attributes.ts";

/**
 * Atomicity of atomic operations (`enum ibv_atomic_cap`).
 *
 * - `NONE`: the device has no atomic operations
 * - `HCA`: they are atomic among operations of this device
 * - `GLOB`: they are atomic among operations of this device and of the CPU
 *
 * @category Devices and ports
 */
export const AtomicCap: Members<"ibv_atomic_cap", "IBV_ATOMIC_"> = members(
  "ibv_atomic_cap",
  "IBV_ATOMIC_",
);
/**
 * A value of {@linkcode AtomicCap}.
 *
 * @category Devices and ports
 */
export type AtomicCap = typeof AtomicCap[keyof typeof AtomicCap];

/**
 * Capabilities of a device (`enum ibv_device_cap_flags`), combined with `|`. {@linkcode namesOf} gives their names.
 *
 * Some that matter often: `MEM_WINDOW` (memory windows), `MEM_WINDOW_TYPE_2A` and `MEM_WINDOW_TYPE_2B` (windows that a
 * queue pair binds), `XRC` (shared receive queues of other processes), `MEM_MGT_EXTENSIONS` (send with invalidate and
 * local invalidate), `MANAGED_FLOW_STEERING` (flow rules), `SRQ_RESIZE`, `AUTO_PATH_MIG` (alternative paths).
 *
 * @category Devices and ports
 */
export const DeviceCapFlags: Members<"ibv_device_cap_flags", "IBV_DEVICE_"> = members(
  "ibv_device_cap_flags",
  "IBV_DEVICE_",
);

/**
 * Basic capabilities of a device (`struct ibv_device_attr`). Counts are upper limits. Other users of the device share them.
 *
 * @category Devices and ports
 */
export interface DeviceAttr {
  /** Firmware version; empty if the device has none. */
  readonly fwVer: string;
  /** GUID of the node. */
  readonly nodeGuid: bigint;
  /** GUID of the system image. The devices of one board share it. */
  readonly sysImageGuid: bigint;
  /** Largest memory region, in bytes. */
  readonly maxMrSize: bigint;
  /** Supported page sizes. Bit `n` stands for pages of `2^n` bytes. */
  readonly pageSizeCap: bigint;
  /** IEEE OUI of the vendor. */
  readonly vendorId: number;
  /** Part number of the vendor. */
  readonly vendorPartId: number;
  /** Hardware version. */
  readonly hwVer: number;
  /** Queue pairs. */
  readonly maxQp: number;
  /** Outstanding work requests of one queue of a queue pair. */
  readonly maxQpWr: number;
  /** {@linkcode DeviceCapFlags}, combined. */
  readonly deviceCapFlags: number;
  /** Scatter/gather elements of a work request. */
  readonly maxSge: number;
  /** Scatter/gather elements of an RDMA read. */
  readonly maxSgeRd: number;
  /** Completion queues. */
  readonly maxCq: number;
  /** Entries of a completion queue. */
  readonly maxCqe: number;
  /** Memory regions. */
  readonly maxMr: number;
  /** Protection domains. */
  readonly maxPd: number;
  /** RDMA reads and atomics that a queue pair serves at the same time. */
  readonly maxQpRdAtom: number;
  /** RDMA reads and atomics that an end-to-end context serves at the same time. */
  readonly maxEeRdAtom: number;
  /** Resources for RDMA reads and atomics of all queue pairs. */
  readonly maxResRdAtom: number;
  /** RDMA reads and atomics that a queue pair may have outstanding. */
  readonly maxQpInitRdAtom: number;
  /** RDMA reads and atomics that an end-to-end context may have outstanding. */
  readonly maxEeInitRdAtom: number;
  /** Atomicity of atomic operations. */
  readonly atomicCap: AtomicCap;
  /** End-to-end contexts. */
  readonly maxEe: number;
  /** Reliable datagram domains. */
  readonly maxRdd: number;
  /** Memory windows. */
  readonly maxMw: number;
  /** Raw IPv6 queue pairs. */
  readonly maxRawIpv6Qp: number;
  /** Raw Ethertype queue pairs. */
  readonly maxRawEthyQp: number;
  /** Multicast groups. */
  readonly maxMcastGrp: number;
  /** Queue pairs of one multicast group. */
  readonly maxMcastQpAttach: number;
  /** Attachments of queue pairs to multicast groups in total. */
  readonly maxTotalMcastQpAttach: number;
  /** Address handles. */
  readonly maxAh: number;
  /** Fast memory regions. */
  readonly maxFmr: number;
  /** Mappings of a fast memory region. */
  readonly maxMapPerFmr: number;
  /** Shared receive queues. */
  readonly maxSrq: number;
  /** Outstanding work requests of a shared receive queue. */
  readonly maxSrqWr: number;
  /** Scatter/gather elements of a receive of a shared receive queue. */
  readonly maxSrqSge: number;
  /** Entries of the P_Key table. */
  readonly maxPkeys: number;
  /** Delay of an acknowledgement: 4.096 us * 2^n. */
  readonly localCaAckDelay: number;
  /** Number of ports. */
  readonly physPortCnt: number;
}

/** Reads a `struct ibv_device_attr`. */
export function readDeviceAttr(view: DataView<ArrayBuffer>, base = 0): DeviceAttr {
  const { fw_ver } = structs.ibv_device_attr.fields;
  const fwVer = cString(fieldBytes(view, fw_ver, base));
  type Numbers = Omit<DeviceAttr, "fwVer">;
  return { fwVer, ...readStruct<"ibv_device_attr", Numbers>("ibv_device_attr", view, base) };
}

function cString(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}
