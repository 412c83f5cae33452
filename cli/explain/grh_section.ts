/** Headers that name the sender of a packet. */

import type { Grh } from "@rdma/ibverbs";
import { type Field, fieldRows, type Form, withWords } from "./fields.ts";
import { row, type Section } from "./section.ts";

const PROTOCOL = withWords(
  { 17: "UDP: RoCE v2", 27: "BTH: InfiniBand or RoCE v1" },
  "no RDMA packet",
);
const TRAFFIC: Form = (value) => `${value} (DSCP ${value >> 2}, ECN ${value & 3})`;

/** Where the IPv4 header is in a GRH, and its fields. */
const IPV4_START = 20;
const IPV4: readonly Field[] = [
  ["version", 0, 0, 4, "count"],
  ["ihl", 0, 4, 4, (value) => `${value} words`],
  ["tos", 1, 0, 8, TRAFFIC],
  ["totalLength", 2, 0, 16, "bytes"],
  ["identification", 4, 0, 16],
  ["ttl", 8, 0, 8, "count"],
  ["protocol", 9, 0, 8, PROTOCOL],
  ["checksum", 10, 0, 16],
  ["saddr", 12, 0, 32, "ipv4"],
  ["daddr", 16, 0, 32, "ipv4"],
];

/** The fields of a GRH after its version. */
const IPV6: readonly Field[] = [
  ["trafficClass", 0, 4, 8, TRAFFIC],
  ["flowLabel", 1, 4, 20],
  ["paylen", 4, 0, 16, "bytes"],
  ["nextHdr", 6, 0, 8, PROTOCOL],
  ["hopLimit", 7, 0, 8, "count"],
  ["sgid", 8, 0, 128, "gid"],
  ["dgid", 24, 0, 128, "gid"],
];

/** The header that a device writes before the payload of a UD receive, or the header of a packet. */
export function grhSection({ bytes, ipVersion }: Grh): Section {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (ipVersion === 4) {
    const title = `IPv4 header (bytes ${IPV4_START} to 39 of a GRH)`;
    return { key: "grh", title, rows: fieldRows(view, IPV4_START, IPV4) };
  }
  const version = row("version", ipVersion ?? null, String(ipVersion ?? "neither 4 nor 6"));
  return {
    key: "grh",
    title: "GRH or IPv6 header",
    rows: [version, ...fieldRows(view, 0, IPV6)],
  };
}
