/** The output of `ibv_devinfo` about a device. */

import {
  AtomicCap,
  type DeviceAttr,
  type DeviceAttrEx,
  DeviceCapFlags,
  type DeviceInfo,
  OdpGeneralCaps,
  OdpTransportCaps,
  TransportType,
} from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { extendedLines } from "./extended_lines.ts";
import {
  field,
  flagLine,
  flagLines,
  guidText,
  hexCapitals,
  named,
  type Names,
  signed,
} from "./text.ts";

const COLUMN = 40;

const TRANSPORTS: Names = {
  [TransportType.IB]: "InfiniBand",
  [TransportType.IWARP]: "iWARP",
  [TransportType.USNIC]: "usNIC",
  [TransportType.USNIC_UDP]: "usNIC UDP",
  [TransportType.UNSPECIFIED]: "unspecified",
};

const ATOMIC_CAPS: Names = Object.fromEntries(
  Object.entries(AtomicCap).map(([name, cap]) => [cap, `ATOMIC_${name}`]),
);

const ODP_FLAGS = Object.fromEntries(
  Object.entries(OdpTransportCaps).map(([name, cap]) => [name === "SRQ_RECV" ? "SRQ" : name, cap]),
);

export interface ShownDevice {
  readonly info: DeviceInfo;
  readonly attr: DeviceAttrEx;
  readonly boardId: string | undefined;
}

/** The lines that are printed without `-v` too. */
export function deviceLines({ info, attr, boardId }: ShownDevice): string[] {
  const { fwVer, nodeGuid, sysImageGuid, vendorId, vendorPartId, hwVer, physPortCnt } =
    attr.origAttr;
  const rows: Label[] = [
    ["transport", named(TRANSPORTS, info.transportType, "invalid transport")],
    ["fw_ver", fwVer === "" ? undefined : fwVer],
    ["node_guid", guidText(nodeGuid)],
    ["sys_image_guid", guidText(sysImageGuid)],
    ["vendor_id", hex(vendorId, 4)],
    ["vendor_part_id", signed(vendorPartId)],
    ["hw_ver", hexCapitals(hwVer)],
    ["board_id", boardId],
    ["phys_port_cnt", physPortCnt],
  ];
  return [`hca_id:\t${info.name}`, ...rowsOf(rows)];
}

export function capabilityLines(attr: DeviceAttrEx, numCompVectors: number): string[] {
  const { origAttr, odpCaps } = attr;
  const { rcOdpCaps, ucOdpCaps, udOdpCaps } = odpCaps.perTransportCaps;
  const odp = { rc: rcOdpCaps, uc: ucOdpCaps, ud: udOdpCaps, xrc: attr.xrcOdpCaps };
  return [
    ...limitLines(origAttr),
    "\tgeneral_odp_caps:",
    ...flagLines(OdpGeneralCaps, odpCaps.generalCaps, "ODP_"),
    ...Object.entries(odp).flatMap(([name, caps]) => [
      `\t${name}_odp_caps:`,
      ...caps === 0 ? [flagLine("NO SUPPORT")] : flagLines(ODP_FLAGS, caps, "SUPPORT_"),
    ]),
    ...extendedLines(attr),
    field(1, "num_comp_vectors", numCompVectors, COLUMN),
  ];
}

function limitLines(attr: DeviceAttr): string[] {
  const { maxFmr, maxSrq } = attr;
  return [
    ...rowsOf([
      ["max_mr_size", hex(attr.maxMrSize)],
      ["page_size_cap", hex(attr.pageSizeCap)],
      ...limits(attr, "max_qp", "max_qp_wr"),
      ["device_cap_flags", hex(attr.deviceCapFlags >>> 0, 8)],
    ]),
    ...flagLines(DeviceCapFlags, attr.deviceCapFlags >>> 0),
    ...rowsOf([
      ...limits(attr, "max_sge", "max_sge_rd", "max_cq", "max_cqe", "max_mr", "max_pd"),
      ...limits(attr, "max_qp_rd_atom", "max_ee_rd_atom", "max_res_rd_atom"),
      ...limits(attr, "max_qp_init_rd_atom", "max_ee_init_rd_atom"),
      ["atomic_cap", named(ATOMIC_CAPS, attr.atomicCap, "invalid atomic capability")],
      ...limits(attr, "max_ee", "max_rdd", "max_mw", "max_raw_ipv6_qp", "max_raw_ethy_qp"),
      ...limits(attr, "max_mcast_grp", "max_mcast_qp_attach", "max_total_mcast_qp_attach"),
      ...limits(attr, "max_ah", "max_fmr"),
      ...maxFmr === 0 ? [] : limits(attr, "max_map_per_fmr"),
      ...limits(attr, "max_srq"),
      ...maxSrq === 0 ? [] : limits(attr, "max_srq_wr", "max_srq_sge"),
      ...limits(attr, "max_pkeys", "local_ca_ack_delay"),
    ]),
  ];
}

type Label = readonly [label: string, value: string | number | undefined];

/** Attributes by the names of their C fields. */
function limits(attr: DeviceAttr, ...labels: readonly string[]): Label[] {
  const nameOf = (label: string): string =>
    label.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return labels.map((label) => [label, attr[nameOf(label) as keyof DeviceAttr] as number]);
}

/** A line for each value that is not undefined. */
function rowsOf(rows: readonly Label[]): string[] {
  const shown = rows.filter(([, value]) => value !== undefined);
  return shown.map(([label, value]) =>
    field(1, label, typeof value === "number" ? signed(value) : value!, COLUMN)
  );
}
