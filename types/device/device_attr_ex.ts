import type { IbvContext } from "../../ffi/handles.ts";
import { type CEnum, enums, structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { members } from "../../ffi/members.ts";
import { allocStruct } from "../../ffi/struct.ts";
import { integer, uint32 } from "../../internal/checks.ts";
import { call } from "../core/errors.ts";
import { type AttributeCodec, codecOf, readStruct } from "../core/attributes.ts";
import { type DeviceAttr, readDeviceAttr } from "./device_attr.ts";

/**
 * On-demand paging (`enum ibv_odp_general_caps`), combined with `|`.
 *
 * @category Devices and ports
 */
export const OdpGeneralCaps: {
  /** Memory regions may be registered for on-demand paging. */
  readonly SUPPORT: CEnum.ibv_odp_general_caps.IBV_ODP_SUPPORT;
  /** One region may cover the whole address space. */
  readonly SUPPORT_IMPLICIT: CEnum.ibv_odp_general_caps.IBV_ODP_SUPPORT_IMPLICIT;
} = members("ibv_odp_general_caps", "IBV_ODP_");

/**
 * Operations that may use memory with on-demand paging (`enum ibv_odp_transport_cap_bits`), combined with `|`.
 *
 * @category Devices and ports
 */
export const OdpTransportCaps: {
  /** Sends. */
  readonly SEND: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_SEND;
  /** Receives. */
  readonly RECV: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_RECV;
  /** RDMA writes. */
  readonly WRITE: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_WRITE;
  /** RDMA reads. */
  readonly READ: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_READ;
  /** Atomics. */
  readonly ATOMIC: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_ATOMIC;
  /** Receives of shared receive queues. */
  readonly SRQ_RECV: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_SRQ_RECV;
  /** Flushes. */
  readonly FLUSH: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_FLUSH;
  /** Atomic writes. */
  readonly ATOMIC_WRITE: CEnum.ibv_odp_transport_cap_bits.IBV_ODP_SUPPORT_ATOMIC_WRITE;
} = members("ibv_odp_transport_cap_bits", "IBV_ODP_SUPPORT_");

/**
 * Offloads of raw packet queue pairs (`enum ibv_raw_packet_caps`), combined with `|`.
 *
 * @category Devices and ports
 */
export const RawPacketCaps: {
  /** The device removes the VLAN tag and reports it in the completion. */
  readonly CVLAN_STRIPPING: CEnum.ibv_raw_packet_caps.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
  /** The device writes the frame check sequence to memory. */
  readonly SCATTER_FCS: CEnum.ibv_raw_packet_caps.IBV_RAW_PACKET_CAP_SCATTER_FCS;
  /** The device computes and verifies IP checksums. */
  readonly IP_CSUM: CEnum.ibv_raw_packet_caps.IBV_RAW_PACKET_CAP_IP_CSUM;
  /** The device can delay packets for which no receive is posted. */
  readonly DELAY_DROP: CEnum.ibv_raw_packet_caps.IBV_RAW_PACKET_CAP_DELAY_DROP;
} = members("ibv_raw_packet_caps", "IBV_RAW_PACKET_CAP_");

/**
 * Tag matching (`enum ibv_tm_cap_flags`): `RC` is set if RC queue pairs have it.
 *
 * @category Devices and ports
 */
export const TmCapFlags: {
  /** RC queue pairs have tag matching. */
  readonly RC: CEnum.ibv_tm_cap_flags.IBV_TM_CAP_RC;
} = members("ibv_tm_cap_flags", "IBV_TM_CAP_");

/**
 * Sizes of operands of atomics over PCI (`enum ibv_pci_atomic_op_size`), combined with `|`.
 *
 * @category Devices and ports
 */
export const PciAtomicOpSize: {
  /** Operands of 4 bytes. */
  readonly "4_BYTE_SIZE_SUP": CEnum.ibv_pci_atomic_op_size.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP;
  /** Operands of 8 bytes. */
  readonly "8_BYTE_SIZE_SUP": CEnum.ibv_pci_atomic_op_size.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
  /** Operands of 16 bytes. */
  readonly "16_BYTE_SIZE_SUP":
    CEnum.ibv_pci_atomic_op_size.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP;
} = members("ibv_pci_atomic_op_size", "IBV_PCI_ATOMIC_OPERATION_");

/**
 * All capabilities of a device (`struct ibv_device_attr_ex`). Attributes that the provider does not report are 0, except
 * those of `origAttr`.
 *
 * @category Devices and ports
 */
export interface DeviceAttrEx {
  /** Basic capabilities. */
  readonly origAttr: DeviceAttr;
  /** 0: verbs.h defines no bits. */
  readonly compMask: number;
  /** On-demand paging (`struct ibv_odp_caps`). */
  readonly odpCaps: {
    /** `OdpGeneralCaps`, combined. */
    readonly generalCaps: bigint;
    /** `OdpTransportCaps` by type of queue pair. */
    readonly perTransportCaps: {
      /** RC queue pairs. */
      readonly rcOdpCaps: number;
      /** UC queue pairs. */
      readonly ucOdpCaps: number;
      /** UD queue pairs. */
      readonly udOdpCaps: number;
    };
  };
  /** Valid bits of completion timestamps; 0 if the device has no timestamps. */
  readonly completionTimestampMask: bigint;
  /** Frequency of the device clock, in kHz. */
  readonly hcaCoreClock: bigint;
  /** `DeviceCapFlags` of `origAttr.deviceCapFlags`, and further ones above bit 31. */
  readonly deviceCapFlagsEx: bigint;
  /** TCP segmentation by the device (`struct ibv_tso_caps`). */
  readonly tsoCaps: {
    /** Largest packet that the device segments, in bytes; 0 if it does not segment. */
    readonly maxTso: number;
    /** Types of queue pairs that support it: bit `1 << type` of each `QpType`. */
    readonly supportedQpts: number;
  };
  /** Receive side scaling (`struct ibv_rss_caps`). */
  readonly rssCaps: {
    /** Types of queue pairs that support it: bit `1 << type` of each `QpType`. */
    readonly supportedQpts: number;
    /** Largest number of indirection tables. */
    readonly maxRwqIndirectionTables: number;
    /** Largest number of entries of an indirection table. */
    readonly maxRwqIndirectionTableSize: number;
    /**
     * `RxHashFields` that can be hashed; 0 if the device does not report them. Compare it with `BigInt(fields)`.
     */
    readonly rxHashFieldsMask: bigint;
    /** `RxHashFunction`, combined; 0 if the device does not report them. */
    readonly rxHashFunction: number;
  };
  /** Largest number of receive work queues. */
  readonly maxWqTypeRq: number;
  /** Rate limits of queue pairs (`struct ibv_packet_pacing_caps`). */
  readonly packetPacingCaps: {
    /** Lowest limit, in kbit/s. */
    readonly qpRateLimitMin: number;
    /** Highest limit, in kbit/s; 0 if the device has no rate limits. */
    readonly qpRateLimitMax: number;
    /** Types of queue pairs that support it: bit `1 << type` of each `QpType`. */
    readonly supportedQpts: number;
  };
  /** `RawPacketCaps`, combined. */
  readonly rawPacketCaps: number;
  /** Tag matching (`struct ibv_tm_caps`). */
  readonly tmCaps: {
    /** Largest header of a rendezvous request, in bytes. */
    readonly maxRndvHdrSize: number;
    /** Largest number of tags of a list; 0 if the device has no tag matching. */
    readonly maxNumTags: number;
    /** `TmCapFlags`, combined. */
    readonly flags: number;
    /** Largest number of outstanding list operations. */
    readonly maxOps: number;
    /** Largest number of scatter/gather elements of a tagged buffer. */
    readonly maxSge: number;
  };
  /** Moderation of completion events (`struct ibv_cq_moderation_caps`). */
  readonly cqModCaps: {
    /** Largest number of completions for one event. */
    readonly maxCqCount: number;
    /** Longest delay of an event, in microseconds. */
    readonly maxCqPeriod: number;
  };
  /** Device memory, in bytes. */
  readonly maxDmSize: bigint;
  /** Atomics over PCI (`struct ibv_pci_atomic_caps`): `PciAtomicOpSize` of each operation. */
  readonly pciAtomicCaps: {
    /** Fetch and add. */
    readonly fetchAdd: number;
    /** Swap. */
    readonly swap: number;
    /** Compare and swap. */
    readonly compareSwap: number;
  };
  /** `OdpTransportCaps` of XRC queue pairs. */
  readonly xrcOdpCaps: number;
  /** Number of ports, for devices with more than `origAttr.physPortCnt` can count. */
  readonly physPortCntEx: number;
}

/** The attributes as the layout table has them: a string is not among them. */
interface Numbers extends Omit<DeviceAttrEx, "origAttr"> {
  readonly origAttr: Omit<DeviceAttr, "fwVer">;
}

/** Queries all capabilities (`ibv_query_device_ex`). */
export function queryDeviceEx(context: IbvContext): DeviceAttrEx {
  const attr = allocStruct(structs.ibv_device_attr_ex);
  call("ibv_query_device_ex", "query device", [context, null, attr]);
  return {
    ...readStruct<"ibv_device_attr_ex", Numbers>("ibv_device_attr_ex", attr),
    origAttr: readDeviceAttr(attr),
  };
}

/**
 * What a device can do with `CompletionCounter` (`struct ibv_comp_cntr_caps`).
 *
 * @category Devices and ports
 */
export interface CompCntrCaps {
  /** The largest count, after which a counter starts again at 0. */
  readonly maxValue: bigint;
  /** The largest number of counters. */
  readonly maxCounters: number;
  /** `QpAttachCompCntrOp`, combined: what counters can be attached for. */
  readonly supportedQpAttachOps: number;
}

/** Queries what a device can do with completion counters (`ibv_query_comp_cntr_caps`). */
export function queryCompCntrCaps(context: IbvContext): CompCntrCaps {
  const caps = allocStruct(structs.ibv_comp_cntr_caps);
  call("ibv_query_comp_cntr_caps", "query completion counters", [context, caps]);
  return readStruct<"ibv_comp_cntr_caps", CompCntrCaps>("ibv_comp_cntr_caps", caps);
}

/**
 * Values of a device that change while it runs (`struct ibv_values_ex`).
 *
 * @category Devices and ports
 */
export interface RtValuesEx {
  /** The values that the provider reports (`enum ibv_values_mask`): 1 is `rawClock`. */
  readonly compMask: number;
  /**
   * The clock that completion timestamps count by. Providers may report it as a time, or as cycles in `tvNsec` with
   * `tvSec` 0: cycles are of `DeviceAttrEx.hcaCoreClock`.
   */
  readonly rawClock: {
    /** Seconds. */
    readonly tvSec: bigint;
    /** Nanoseconds, or cycles. */
    readonly tvNsec: bigint;
  };
}

const valuesCodec: AttributeCodec<{ compMask: number }> = codecOf("ibv_values_ex", "values", {
  compMask: {},
});

/** Queries the values (`ibv_query_rt_values_ex`). */
export function queryRtValuesEx(context: IbvContext): RtValuesEx {
  const { view } = valuesCodec.write({ compMask: enums.ibv_values_mask.IBV_VALUES_MASK_RAW_CLOCK });
  call("ibv_query_rt_values_ex", "query device clock", [context, view]);
  return readStruct<"ibv_values_ex", RtValuesEx>("ibv_values_ex", view);
}

/**
 * Whether a capability holds for a transport service (`ibv_is_qpt_supported`).
 *
 * @param supportedQpts The transport services of a capability, such as `tsoCaps.supportedQpts` of `DeviceAttrEx`.
 * @param type The transport service: a `QpType`.
 * @throws {TypeError} If an argument is not an integer.
 * @throws {RangeError} If `supportedQpts` does not fit 32 bits, or `type` is not within 0 to 255.
 * @category Devices and ports
 */
export function isQptSupported(supportedQpts: number, type: number): boolean {
  uint32(supportedQpts, "supportedQpts");
  // A shift of C by 32 bits or more, as for `QpType.DRIVER`, has no defined result.
  if (integer(type, "type", 0, enums.ibv_qp_type.IBV_QPT_DRIVER) > 31) return false;
  return verbs().ibv_is_qpt_supported(supportedQpts, type) !== 0;
}
