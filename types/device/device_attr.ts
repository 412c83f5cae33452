import { type CEnum, structs } from "../../ffi/layout.ts";
import { members } from "../../ffi/members.ts";
import { fieldBytes } from "../../ffi/struct.ts";
import { readStruct } from "../core/attributes.ts";
import { guidText, nameIn, namesIn, shown } from "../core/shown.ts";

/**
 * Atomicity of atomic operations (`enum ibv_atomic_cap`).
 *
 * @category Devices and ports
 */
export const AtomicCap: {
  /** The device has no atomic operations. */
  readonly NONE: CEnum.ibv_atomic_cap.IBV_ATOMIC_NONE;
  /** Atomics are atomic among operations of this device. */
  readonly HCA: CEnum.ibv_atomic_cap.IBV_ATOMIC_HCA;
  /** Atomics are atomic among operations of this device and of the CPU. */
  readonly GLOB: CEnum.ibv_atomic_cap.IBV_ATOMIC_GLOB;
} = members("ibv_atomic_cap", "IBV_ATOMIC_");
/**
 * A value of `AtomicCap`.
 *
 * @category Devices and ports
 */
export type AtomicCap = typeof AtomicCap[keyof typeof AtomicCap];

/**
 * Capabilities of a device (`enum ibv_device_cap_flags`), combined with `|`. `namesOf` gives their names.
 *
 * Some that matter often: `MEM_WINDOW` (memory windows), `MEM_WINDOW_TYPE_2A` and `MEM_WINDOW_TYPE_2B` (windows that a
 * queue pair binds), `XRC` (shared receive queues of other processes), `MEM_MGT_EXTENSIONS` (send with invalidate and
 * local invalidate), `MANAGED_FLOW_STEERING` (flow rules), `SRQ_RESIZE`, `AUTO_PATH_MIG` (alternative paths).
 *
 * @category Devices and ports
 */
export const DeviceCapFlags: {
  /** `cap` of `QueuePair.modify` changes the sizes of queues. */
  readonly RESIZE_MAX_WR: CEnum.ibv_device_cap_flags.IBV_DEVICE_RESIZE_MAX_WR;
  /** Ports count packets with a wrong P_Key. */
  readonly BAD_PKEY_CNTR: CEnum.ibv_device_cap_flags.IBV_DEVICE_BAD_PKEY_CNTR;
  /** Ports count datagrams with a wrong qkey. */
  readonly BAD_QKEY_CNTR: CEnum.ibv_device_cap_flags.IBV_DEVICE_BAD_QKEY_CNTR;
  /** Raw packets can be multicast. */
  readonly RAW_MULTI: CEnum.ibv_device_cap_flags.IBV_DEVICE_RAW_MULTI;
  /** Queue pairs migrate to an alternative path. */
  readonly AUTO_PATH_MIG: CEnum.ibv_device_cap_flags.IBV_DEVICE_AUTO_PATH_MIG;
  /** A queue pair can change its port in state SQD. */
  readonly CHANGE_PHY_PORT: CEnum.ibv_device_cap_flags.IBV_DEVICE_CHANGE_PHY_PORT;
  /** Datagrams are refused if their address handle is for another port than the queue pair. */
  readonly UD_AV_PORT_ENFORCE: CEnum.ibv_device_cap_flags.IBV_DEVICE_UD_AV_PORT_ENFORCE;
  /** `curQpState` of `QueuePair.modify` is checked. */
  readonly CURR_QP_STATE_MOD: CEnum.ibv_device_cap_flags.IBV_DEVICE_CURR_QP_STATE_MOD;
  /** Ports can be shut down. */
  readonly SHUTDOWN_PORT: CEnum.ibv_device_cap_flags.IBV_DEVICE_SHUTDOWN_PORT;
  /** Ports can tell the subnet manager what to keep when it configures them. */
  readonly INIT_TYPE: CEnum.ibv_device_cap_flags.IBV_DEVICE_INIT_TYPE;
  /** There is an event when a port becomes active. */
  readonly PORT_ACTIVE_EVENT: CEnum.ibv_device_cap_flags.IBV_DEVICE_PORT_ACTIVE_EVENT;
  /** The GUID of the system image can be set. */
  readonly SYS_IMAGE_GUID: CEnum.ibv_device_cap_flags.IBV_DEVICE_SYS_IMAGE_GUID;
  /** RC queue pairs tell the peer when no receive is posted, so that it tries again. */
  readonly RC_RNR_NAK_GEN: CEnum.ibv_device_cap_flags.IBV_DEVICE_RC_RNR_NAK_GEN;
  /** Shared receive queues can be resized. */
  readonly SRQ_RESIZE: CEnum.ibv_device_cap_flags.IBV_DEVICE_SRQ_RESIZE;
  /** A completion queue can wait for several completions before it sends an event. */
  readonly N_NOTIFY_CQ: CEnum.ibv_device_cap_flags.IBV_DEVICE_N_NOTIFY_CQ;
  /** Memory windows of type 1. */
  readonly MEM_WINDOW: CEnum.ibv_device_cap_flags.IBV_DEVICE_MEM_WINDOW;
  /** Checksums of IP packets in datagrams are computed and verified. */
  readonly UD_IP_CSUM: CEnum.ibv_device_cap_flags.IBV_DEVICE_UD_IP_CSUM;
  /** Extended reliable connections: shared receive queues of other processes. */
  readonly XRC: CEnum.ibv_device_cap_flags.IBV_DEVICE_XRC;
  /** Send with invalidate, and local invalidate. */
  readonly MEM_MGT_EXTENSIONS: CEnum.ibv_device_cap_flags.IBV_DEVICE_MEM_MGT_EXTENSIONS;
  /** Memory windows of type 2 that check the queue pair. */
  readonly MEM_WINDOW_TYPE_2A: CEnum.ibv_device_cap_flags.IBV_DEVICE_MEM_WINDOW_TYPE_2A;
  /** Memory windows of type 2 that check the queue pair and its protection domain. */
  readonly MEM_WINDOW_TYPE_2B: CEnum.ibv_device_cap_flags.IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  /** Checksums of IP packets on reliable connections are computed and verified. */
  readonly RC_IP_CSUM: CEnum.ibv_device_cap_flags.IBV_DEVICE_RC_IP_CSUM;
  /** Checksums of raw packets are computed and verified. */
  readonly RAW_IP_CSUM: CEnum.ibv_device_cap_flags.IBV_DEVICE_RAW_IP_CSUM;
  /** Flow rules. */
  readonly MANAGED_FLOW_STEERING: CEnum.ibv_device_cap_flags.IBV_DEVICE_MANAGED_FLOW_STEERING;
} = members("ibv_device_cap_flags", "IBV_DEVICE_");

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
  /** `DeviceCapFlags`, combined. */
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
  const numbers = readStruct<"ibv_device_attr", Numbers>("ibv_device_attr", view, base);
  return shown({ fwVer, ...numbers }, {
    nodeGuid: guidText,
    sysImageGuid: guidText,
    deviceCapFlags: namesIn(DeviceCapFlags),
    atomicCap: nameIn(AtomicCap),
  });
}

function cString(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}
