/** Headers that name the sender of a packet. */

import type { Grh } from "@rdma/ibverbs";
import { hexRow, type Row, row, type Section } from "./section.ts";

const NEXT_HEADERS: Readonly<Record<number, string>> = {
  17: "UDP: RoCE v2",
  27: "BTH: InfiniBand or RoCE v1",
};

/** The header that a device writes before the payload of a UD receive, or that of a packet. */
export function grhSection(grh: Grh): Section {
  return grh.ipVersion === 4 ? ipv4Section(grh) : ipv6Section(grh);
}

function ipv4Section({ ipv4 }: Grh): Section {
  return {
    key: "grh",
    title: "IPv4 header (bytes 20 to 39 of a GRH)",
    rows: [
      row("version", 4),
      row("ihl", ipv4.ihl, `${ipv4.ihl} words`),
      trafficRow("tos", ipv4.tos),
      row("totalLength", ipv4.totalLength, `${ipv4.totalLength} bytes`),
      hexRow("identification", ipv4.identification, 4),
      row("ttl", ipv4.ttl),
      row("protocol", ipv4.protocol, named(ipv4.protocol)),
      hexRow("checksum", ipv4.checksum, 4),
      row("saddr", ipv4.saddr),
      row("daddr", ipv4.daddr),
    ],
  };
}

function ipv6Section(grh: Grh): Section {
  return {
    key: "grh",
    title: "GRH or IPv6 header",
    rows: [
      row("version", grh.ipVersion ?? null, String(grh.ipVersion ?? "neither 4 nor 6")),
      trafficRow("trafficClass", grh.trafficClass),
      hexRow("flowLabel", grh.flowLabel, 5),
      row("paylen", grh.paylen, `${grh.paylen} bytes`),
      row("nextHdr", grh.nextHdr, named(grh.nextHdr)),
      row("hopLimit", grh.hopLimit),
      row("sgid", grh.sgid.toString()),
      row("dgid", grh.dgid.toString()),
    ],
  };
}

function trafficRow(name: string, value: number): Row {
  return row(name, value, `${value} (DSCP ${value >> 2}, ECN ${value & 3})`);
}

function named(protocol: number): string {
  return `${protocol} (${NEXT_HEADERS[protocol] ?? "no RDMA packet"})`;
}
