/** The output of `ibv_devinfo -v` about offloads and extensions. */

import { constants } from "@rdma/ibverbs/ffi";
import { type DeviceAttrEx, QpType, RawPacketCaps, TmCapFlags } from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { field, flagLine, flagLines, type Flags, hexCapitals, signed } from "./text.ts";

/** Columns of the values, which differ from part to part. */
const COLUMN = { main: 40, offload: 48, rss: 64, moderation: 32, timestamp: 56 } as const;
const LOW_32_BITS = 0xffff_ffffn;

/** Bits of `device_cap_flags_ex` above those of `device_cap_flags`. verbs.h has them as macros. */
const EXTENDED_CAP_FLAGS: Flags = {
  RAW_SCATTER_FCS: constants.IBV_DEVICE_RAW_SCATTER_FCS,
  PCI_WRITE_END_PADDING: constants.IBV_DEVICE_PCI_WRITE_END_PADDING,
  CC_DMA_BOUNCE: constants.IBV_DEVICE_CC_DMA_BOUNCE,
};

/** Types of queue pairs that an offload may support. */
const SUPPORTED_QPTS: Flags = {
  SUPPORT_RAW_PACKET: 1 << QpType.RAW_PACKET,
  SUPPORT_UD: 1 << QpType.UD,
};

const RAW_PACKET_FLAGS: Flags = {
  "C-VLAN stripping offload": RawPacketCaps.CVLAN_STRIPPING,
  "Scatter FCS offload": RawPacketCaps.SCATTER_FCS,
  "IP csum offload": RawPacketCaps.IP_CSUM,
  "Delay drop": RawPacketCaps.DELAY_DROP,
};

/** `ibv_devinfo` does not mention other bits. */
const RAW_PACKET_MASK = Object.values(RAW_PACKET_FLAGS).reduce((a, b) => a | b);

/** The lines after those of on-demand paging. */
export function extendedLines(attr: DeviceAttrEx): string[] {
  const { tsoCaps, rssCaps, packetPacingCaps: pacing, rawPacketCaps } = attr;
  return [
    ...clockLines(attr),
    ...rawPacketCaps === 0 ? [] : ["\traw packet caps:"],
    ...flagLines(RAW_PACKET_FLAGS, rawPacketCaps & RAW_PACKET_MASK),
    field(1, "device_cap_flags_ex", hexCapitals(attr.deviceCapFlagsEx), COLUMN.main),
    ...flagLines(EXTENDED_CAP_FLAGS, attr.deviceCapFlagsEx & ~LOW_32_BITS),
    "\ttso_caps:",
    field(2, "max_tso", signed(tsoCaps.maxTso), COLUMN.offload),
    ...tsoCaps.maxTso === 0 ? [] : supportedLines(tsoCaps.supportedQpts),
    "\trss_caps:",
    field(2, "max_rwq_indirection_tables", rssCaps.maxRwqIndirectionTables, COLUMN.rss),
    field(2, "max_rwq_indirection_table_size", rssCaps.maxRwqIndirectionTableSize, COLUMN.rss),
    field(2, "rx_hash_function", hex(rssCaps.rxHashFunction), COLUMN.rss),
    field(2, "rx_hash_fields_mask", hexCapitals(rssCaps.rxHashFieldsMask), COLUMN.rss),
    ...rssCaps.supportedQpts === 0 ? [] : supportedLines(rssCaps.supportedQpts),
    field(1, "max_wq_type_rq", attr.maxWqTypeRq, COLUMN.main),
    "\tpacket_pacing_caps:",
    field(2, "qp_rate_limit_min", `${pacing.qpRateLimitMin}kbps`, COLUMN.main),
    field(2, "qp_rate_limit_max", `${pacing.qpRateLimitMax}kbps`, COLUMN.main),
    ...pacing.qpRateLimitMax === 0 ? [] : supportedLines(pacing.supportedQpts),
    ...tagMatchingLines(attr),
    ...moderationLines(attr),
    ...memoryLines(attr),
  ];
}

function clockLines(
  { completionTimestampMask: mask, hcaCoreClock: clock }: DeviceAttrEx,
): string[] {
  return [
    mask === 0n
      ? "\tcompletion_timestamp_mask not supported"
      : field(1, "completion timestamp_mask", hex(mask, 16), COLUMN.timestamp),
    clock === 0n
      ? "\tcore clock not supported"
      : field(1, "hca_core_clock", `${clock}kHZ`, COLUMN.main),
  ];
}

function supportedLines(qpts: number): string[] {
  return ["\t\tsupported_qp:", ...flagLines(SUPPORTED_QPTS, qpts)];
}

function tagMatchingLines({ tmCaps: caps }: DeviceAttrEx): string[] {
  if (caps.maxNumTags === 0) return ["\ttag matching not supported"];
  return [
    field(1, "max_rndv_hdr_size", caps.maxRndvHdrSize, COLUMN.main),
    field(1, "max_num_tags", caps.maxNumTags, COLUMN.main),
    field(1, "max_ops", caps.maxOps, COLUMN.main),
    field(1, "max_sge", caps.maxSge, COLUMN.main),
    "\tflags:",
    ...(caps.flags & TmCapFlags.RC) === 0 ? [] : [flagLine("IBV_TM_CAP_RC")],
  ];
}

function moderationLines({ cqModCaps: { maxCqCount, maxCqPeriod } }: DeviceAttrEx): string[] {
  if (maxCqCount === 0 || maxCqPeriod === 0) return [];
  return [
    "",
    "\tcq moderation caps:",
    field(2, "max_cq_count", maxCqCount, COLUMN.moderation),
    field(2, "max_cq_period", `${maxCqPeriod} us`, COLUMN.moderation),
    "",
  ];
}

function memoryLines({ maxDmSize }: DeviceAttrEx): string[] {
  if (maxDmSize === 0n) return [];
  return [field(1, "maximum available device memory", `${maxDmSize}Bytes`, COLUMN.offload), ""];
}
