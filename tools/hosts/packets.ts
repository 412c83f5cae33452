/** The RDMA packets of a capture, decoded by tshark. */

import { type Need, SetupError } from "../host/setup.ts";
import { lanAddress } from "../../rxe/guest/qemu.ts";
import { lines } from "../../rxe/guest/streams.ts";

/** What decodes the packets. */
export const TSHARK: Need = {
  package: "tshark",
  file: "/usr/bin/tshark",
  reason: "decodes the packets between the hosts",
};

export interface Packet {
  /** The number of its frame in the capture. */
  readonly frame: number;
  /** The number of the host that sent it. */
  readonly host: number;
  /** The Ethernet address that it goes to. */
  readonly link: string;
  readonly src: string;
  readonly dst: string;
  readonly trafficClass: number;
  readonly hopLimit: number;
  /** 0 for IPv4. */
  readonly flowLabel: number;
  readonly opcode: number;
  readonly pkey: number;
  readonly destQp: number;
  readonly psn: number;
  readonly qkey: number;
  readonly srcQp: number;
  /** Behind all headers, in hexadecimal. */
  readonly payload: string;
}

/** The fields that tshark prints, in the order in which packetOf() takes them. */
const FIELDS = [
  ...["frame.number", "eth.src", "eth.dst"],
  ...["ip.src", "ip.dst", "ip.dsfield", "ip.ttl"],
  ...["ipv6.src", "ipv6.dst", "ipv6.tclass", "ipv6.hlim", "ipv6.flow"],
  ...["opcode", "p_key", "destqp", "psn", "padcnt"].map((name) => `infiniband.bth.${name}`),
  ...["infiniband.deth.q_key", "infiniband.deth.srcqp", "udp.payload"],
];

/** Bytes of the headers of a datagram, and of the checksum behind the payload. */
const HEADERS = 20;
const ICRC = 4;
/** Decodes a pcap file. Other packets than datagrams of RoCE v2 are left out. */
export async function decode(file: string): Promise<Packet[]> {
  return (await rowsOf(file, FIELDS, ["-Y", "infiniband.deth"])).map(packetOf);
}

/**
 * What tshark shows of each frame: a text for each field, which is empty if the frame has none. Of a field that a frame
 * has twice it is the first one, or the last one.
 */
export async function rowsOf(
  file: string,
  fields: readonly string[],
  options: readonly string[] = [],
  occurrence: "first" | "last" = "first",
): Promise<string[][]> {
  const named = fields.flatMap((field) => ["-e", field]);
  const child = new Deno.Command(TSHARK.file, {
    args: ["-r", file, ...options, "-T", "fields", "-E", `occurrence=${occurrence[0]}`, ...named],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const complaint = new Response(child.stderr).text();
  const rows: string[][] = [];
  for await (const line of lines(child.stdout)) rows.push(line.split("\t"));
  const { success } = await child.status;
  if (!success) throw new SetupError(`tshark cannot decode ${file}: ${(await complaint).trim()}`);
  return rows;
}

function packetOf(row: readonly string[]): Packet {
  const [frame, sender, link, src4, dst4, field, ttl, src6, dst6, tclass, limit, flow, ...rest] =
    row as [string, string, string, ...string[]];
  const [opcode, pkey, destQp, psn, padding, qkey, srcQp, bytes = ""] = rest;
  const number = (text = ""): number => text === "" ? NaN : Number(text);
  return {
    frame: number(frame),
    host: [1, 2].find((host) => lanAddress(host) === sender) ?? NaN,
    link,
    src: src4 || src6!,
    dst: dst4 || dst6!,
    trafficClass: number(field || tclass),
    hopLimit: number(ttl || limit),
    flowLabel: src4 ? 0 : number(flow),
    opcode: number(opcode),
    pkey: number(pkey),
    destQp: number(destQp),
    psn: number(psn),
    qkey: number(qkey),
    srcQp: number(srcQp),
    payload: bytes.slice(2 * HEADERS, bytes.length - 2 * (ICRC + number(padding))),
  };
}
