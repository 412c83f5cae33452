/**
 * What a device can do beyond the basic attributes.
 *
 * @module
 */

import { errnoName } from "../../ffi/errno.ts";
import type { IbvContext } from "../../ffi/handles.ts";
import { hasExtendedOp } from "../../ffi/inlines.ts";
import { structs } from "../../ffi/layout.ts";
import { verbs } from "../../ffi/library.ts";
import { allocStruct, structToObject } from "../../ffi/struct.ts";
import { type DeviceAttr, readDeviceAttr } from "./device.ts";
import { check } from "../core/errors.ts";

/** Receive side scaling (`struct ibv_rss_caps`). */
export interface RssCaps {
  /** Which types of queue pairs can do it: bit `1 << type` of each {@linkcode QpType}. */
  readonly supportedQpts: number;
  /** Most indirection tables. */
  readonly maxRwqIndirectionTables: number;
  /** Most entries of an indirection table. */
  readonly maxRwqIndirectionTableSize: number;
  /** {@linkcode RxHashFields} that can be hashed; 0 where the device does not tell. */
  readonly rxHashFieldsMask: bigint;
  /** {@linkcode RxHashFunction}, combined; 0 where the device does not tell. */
  readonly rxHashFunction: number;
}

/** On-demand paging (`struct ibv_odp_caps`). */
export interface OdpCaps {
  /** `enum ibv_odp_general_caps`, combined: 1 at all, 2 for the whole address space too. */
  readonly generalCaps: bigint;
  /** `enum ibv_odp_transport_cap_bits`, combined: operations on such memory, by type of queue pair. */
  readonly perTransportCaps: {
    /** Of RC. */
    readonly rcOdpCaps: number;
    /** Of UC. */
    readonly ucOdpCaps: number;
    /** Of UD. */
    readonly udOdpCaps: number;
  };
}

/** TCP segmentation by the device (`struct ibv_tso_caps`). */
export interface TsoCaps {
  /** Longest packet in bytes that it segments; 0 if it does not. */
  readonly maxTso: number;
  /** Which types of queue pairs can do it: bit `1 << type` of each {@linkcode QpType}. */
  readonly supportedQpts: number;
}

/** Rate limits of queue pairs (`struct ibv_packet_pacing_caps`). */
export interface PacketPacingCaps {
  /** Lowest limit in kbit/s. */
  readonly qpRateLimitMin: number;
  /** Highest limit in kbit/s; 0 if there are none. */
  readonly qpRateLimitMax: number;
  /** Which types of queue pairs take them: bit `1 << type` of each {@linkcode QpType}. */
  readonly supportedQpts: number;
}

/** Tag matching (`struct ibv_tm_caps`). */
export interface TmCaps {
  /** Longest header in bytes of a rendezvous request. */
  readonly maxRndvHdrSize: number;
  /** Most tags of a list; 0 if there is no tag matching. */
  readonly maxNumTags: number;
  /** `enum ibv_tm_cap_flags`, combined: 1 on RC. */
  readonly flags: number;
  /** Most outstanding list operations. */
  readonly maxOps: number;
  /** Most scatter/gather elements of a tagged buffer. */
  readonly maxSge: number;
}

/** Moderation of completion events (`struct ibv_cq_moderation_caps`). */
export interface CqModCaps {
  /** Most completions per event. */
  readonly maxCqCount: number;
  /** Longest delay of an event in microseconds. */
  readonly maxCqPeriod: number;
}

/** Atomics over PCI (`struct ibv_pci_atomic_caps`): `enum ibv_pci_atomic_op_size`, combined: 1 of 4 bytes, 2 of 8, 4 of 16. */
export interface PciAtomicCaps {
  /** Fetch and add. */
  readonly fetchAdd: number;
  /** Swap. */
  readonly swap: number;
  /** Compare and swap. */
  readonly compareSwap: number;
}

/** What a device can do (`struct ibv_device_attr_ex`). Everything but `origAttr` is 0 where the provider does not tell. */
export interface DeviceAttrEx {
  /** The basic attributes. */
  readonly origAttr: DeviceAttr;
  /** Which attributes beyond these are there: none are defined, 0. */
  readonly compMask: number;
  /** On-demand paging. */
  readonly odpCaps: OdpCaps;
  /** Valid bits of completion timestamps; 0 if there are none. */
  readonly completionTimestampMask: bigint;
  /** Frequency of the device's clock in kHz. */
  readonly hcaCoreClock: bigint;
  /** Capabilities: those of `origAttr.deviceCapFlags` and, above bit 31, further ones. */
  readonly deviceCapFlagsEx: bigint;
  /** TCP segmentation by the device. */
  readonly tsoCaps: TsoCaps;
  /** Receive side scaling. */
  readonly rssCaps: RssCaps;
  /** Most work queues of type RQ. */
  readonly maxWqTypeRq: number;
  /** Rate limits of queue pairs. */
  readonly packetPacingCaps: PacketPacingCaps;
  /**
   * `enum ibv_raw_packet_caps`, combined: 1 takes VLAN tags off, 2 writes the frame check sequence, 4 checks IP
   * checksums, 8 can wait for receives.
   */
  readonly rawPacketCaps: number;
  /** Tag matching. */
  readonly tmCaps: TmCaps;
  /** Moderation of completion events. */
  readonly cqModCaps: CqModCaps;
  /** Bytes of memory on the device. */
  readonly maxDmSize: bigint;
  /** Atomics over PCI. */
  readonly pciAtomicCaps: PciAtomicCaps;
  /** `enum ibv_odp_transport_cap_bits`, combined: on-demand paging of XRC. */
  readonly xrcOdpCaps: number;
  /** Number of ports, where `origAttr.physPortCnt` cannot count so far. */
  readonly physPortCntEx: number;
}

/** `ibv_query_device_ex`, with the header's way out for providers that do not have it. */
export function queryDeviceEx(context: IbvContext): DeviceAttrEx {
  const layout = structs.ibv_device_attr_ex;
  const attr = allocStruct(layout);
  const result = hasExtendedOp(context, "query_device_ex")
    ? verbs().ibv_query_device_ex(context, null, attr, BigInt(layout.size))
    : undefined;
  if (result === undefined || isMissing(result)) {
    const basic = allocStruct(layout);
    check("ibv_query_device", "query device", verbs().ibv_query_device(context, basic));
    return readDeviceAttrEx(basic);
  }
  check("ibv_query_device_ex", "query device", result);
  return readDeviceAttrEx(attr);
}

function isMissing(result: number): boolean {
  return ["EOPNOTSUPP", "ENOSYS"].includes(errnoName(result));
}

function readDeviceAttrEx(attr: DataView<ArrayBuffer>): DeviceAttrEx {
  return {
    ...structToObject(attr, structs.ibv_device_attr_ex),
    origAttr: readDeviceAttr(attr),
  } as DeviceAttrEx;
}
