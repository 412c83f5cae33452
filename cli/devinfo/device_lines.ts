/** The output of `ibv_devinfo` about a device. */

import {
  AtomicCap,
  type DeviceAttr,
  type DeviceAttrEx,
  type DeviceInfo,
  OdpGeneralCaps,
  TransportType,
} from "../../mod.ts";
import { extendedLines } from "./extended_lines.ts";
import { CAP_FLAGS, ODP_TRANSPORT_FLAGS } from "./flags.ts";
import {
  field,
  flagLine,
  flagLines,
  guidText,
  hex,
  hexCapitals,
  named,
  type Names,
  signed,
} from "./text.ts";

/** Column of the values. */
const COLUMN = 40;

const TRANSPORTS: Names = {
  [TransportType.IB]: "InfiniBand",
  [TransportType.IWARP]: "iWARP",
  [TransportType.USNIC]: "usNIC",
  [TransportType.USNIC_UDP]: "usNIC UDP",
  [TransportType.UNSPECIFIED]: "unspecified",
};

const ATOMIC_CAPS: Names = {
  [AtomicCap.NONE]: "ATOMIC_NONE",
  [AtomicCap.HCA]: "ATOMIC_HCA",
  [AtomicCap.GLOB]: "ATOMIC_GLOB",
};

export interface ShownDevice {
  readonly info: DeviceInfo;
  /** Its capabilities. */
  readonly attr: DeviceAttrEx;
  /** The name of its board, if it is known. */
  readonly boardId: string | undefined;
}

/** The lines that are printed without `-v` too. */
export function deviceLines({ info, attr, boardId }: ShownDevice): string[] {
  const { fwVer, nodeGuid, sysImageGuid, vendorId, vendorPartId, hwVer, physPortCnt } =
    attr.origAttr;
  const rows: [string, string | number | undefined][] = [
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

/** The lines of `-v`. */
export function capabilityLines(attr: DeviceAttrEx, numCompVectors: number): string[] {
  const { origAttr, odpCaps } = attr;
  const { rcOdpCaps, ucOdpCaps, udOdpCaps } = odpCaps.perTransportCaps;
  const odp = { rc: rcOdpCaps, uc: ucOdpCaps, ud: udOdpCaps, xrc: attr.xrcOdpCaps };
  return [
    ...limitLines(origAttr),
    "\tgeneral_odp_caps:",
    ...flagLines(
      {
        ODP_SUPPORT: OdpGeneralCaps.SUPPORT,
        ODP_SUPPORT_IMPLICIT: OdpGeneralCaps.SUPPORT_IMPLICIT,
      },
      odpCaps.generalCaps,
    ),
    ...Object.entries(odp).flatMap(([name, caps]) => [
      `\t${name}_odp_caps:`,
      ...caps === 0 ? [flagLine("NO SUPPORT")] : flagLines(ODP_TRANSPORT_FLAGS, BigInt(caps)),
    ]),
    ...extendedLines(attr),
    field(1, "num_comp_vectors", numCompVectors, COLUMN),
  ];
}

function limitLines(attr: DeviceAttr): string[] {
  return [
    ...rowsOf([
      ["max_mr_size", hex(attr.maxMrSize)],
      ["page_size_cap", hex(attr.pageSizeCap)],
      ["max_qp", attr.maxQp],
      ["max_qp_wr", attr.maxQpWr],
      ["device_cap_flags", hex(attr.deviceCapFlags >>> 0, 8)],
    ]),
    ...flagLines(CAP_FLAGS, BigInt(attr.deviceCapFlags >>> 0)),
    ...rowsOf([
      ["max_sge", attr.maxSge],
      ["max_sge_rd", attr.maxSgeRd],
      ["max_cq", attr.maxCq],
      ["max_cqe", attr.maxCqe],
      ["max_mr", attr.maxMr],
      ["max_pd", attr.maxPd],
      ["max_qp_rd_atom", attr.maxQpRdAtom],
      ["max_ee_rd_atom", attr.maxEeRdAtom],
      ["max_res_rd_atom", attr.maxResRdAtom],
      ["max_qp_init_rd_atom", attr.maxQpInitRdAtom],
      ["max_ee_init_rd_atom", attr.maxEeInitRdAtom],
      ["atomic_cap", named(ATOMIC_CAPS, attr.atomicCap, "invalid atomic capability")],
      ["max_ee", attr.maxEe],
      ["max_rdd", attr.maxRdd],
      ["max_mw", attr.maxMw],
      ["max_raw_ipv6_qp", attr.maxRawIpv6Qp],
      ["max_raw_ethy_qp", attr.maxRawEthyQp],
      ["max_mcast_grp", attr.maxMcastGrp],
      ["max_mcast_qp_attach", attr.maxMcastQpAttach],
      ["max_total_mcast_qp_attach", attr.maxTotalMcastQpAttach],
      ["max_ah", attr.maxAh],
      ["max_fmr", attr.maxFmr],
      ["max_map_per_fmr", attr.maxFmr === 0 ? undefined : attr.maxMapPerFmr],
      ["max_srq", attr.maxSrq],
      ["max_srq_wr", attr.maxSrq === 0 ? undefined : attr.maxSrqWr],
      ["max_srq_sge", attr.maxSrq === 0 ? undefined : attr.maxSrqSge],
      ["max_pkeys", attr.maxPkeys],
      ["local_ca_ack_delay", attr.localCaAckDelay],
    ]),
  ];
}

/** A line for each value that is not undefined. */
function rowsOf(rows: readonly (readonly [string, string | number | undefined])[]): string[] {
  return rows.flatMap(([label, value]) =>
    value === undefined
      ? []
      : [field(1, label, typeof value === "number" ? signed(value) : value, COLUMN)]
  );
}
