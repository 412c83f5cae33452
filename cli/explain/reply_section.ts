/** The address that a reply goes to. */

import { type Context, type Grh, initAhFromWc, type WcAddress, WcFlags } from "@rdma/ibverbs";
import { hex } from "../shell/text.ts";
import { hexRow, type Row, row, type Section } from "./section.ts";

/** What is known about a received packet. */
export interface Received {
  /** Its completion. A packet from the wire has none: then it is what the device would report. */
  readonly wc: WcAddress;
  readonly grh: Grh | undefined;
  readonly srcQp: number | undefined;
  readonly qkey: number | undefined;
}

export interface Receiver {
  readonly context: Context;
  readonly port: number;
}

/** The reply path of a packet: exact if the receiver is known, otherwise as far as the packet shows it. */
export function replySection(received: Received, receiver: Receiver | undefined): Section {
  const { srcQp, qkey } = received;
  const rows = receiver === undefined ? rowsOfPacket(received) : rowsOfPort(received, receiver);
  return {
    key: "reply",
    title: "Reply path",
    rows: [
      ...rows,
      srcQp === undefined
        ? row("remoteQpn", null, "srcQp of the work completion")
        : hexRow("remoteQpn", srcQp, 6),
      qkey === undefined ? row("remoteQkey", null, "agreed with the peer") : row(
        "remoteQkey",
        qkey,
        `${hex(qkey, 8)}, if the peer has the Q_Key that it sends to`,
      ),
    ],
  };
}

/** A section that says why there is no reply path. */
export function noReply(reason: string): Section {
  return { key: "reply", title: "Reply path", rows: [row("none", reason)] };
}

function rowsOfPort({ wc, grh }: Received, { context, port }: Receiver): Row[] {
  const attr = initAhFromWc(context, port, wc, grh);
  const where = [row("device", context.device.name), row("portNum", attr.portNum)];
  if (!attr.isGlobal) return [...where, ...lidRows(wc)];
  const { sgidIndex } = attr.grh;
  const sgid = context.queryGid(port, sgidIndex);
  return [
    ...where,
    row("dgid", attr.grh.dgid.toString()),
    row("sgidIndex", sgidIndex, `${sgidIndex} (${sgid})`),
    ...routeRows(attr.grh),
    ...lidRows(wc),
  ];
}

function rowsOfPacket({ wc, grh }: Received): Row[] {
  if ((wc.wcFlags & WcFlags.GRH) === 0 || grh === undefined) return lidRows(wc);
  const { dgid, ipVersion } = grh;
  const route = ipVersion === 4
    ? { flowLabel: 0, hopLimit: grh.ipv4.ttl, trafficClass: grh.ipv4.tos }
    : grh;
  return [
    row("dgid", grh.sgid.toString()),
    row("sgidIndex", null, `index of ${dgid} in the receiver's GID table (--ib-dev finds it)`),
    ...routeRows(route),
    ...lidRows(wc),
  ];
}

function routeRows(
  { hopLimit, trafficClass, flowLabel }: Pick<Grh, "hopLimit" | "trafficClass" | "flowLabel">,
): Row[] {
  return [
    row("hopLimit", hopLimit),
    row("trafficClass", trafficClass),
    hexRow("flowLabel", flowLabel, 5),
  ];
}

function lidRows({ slid, sl, dlidPathBits }: WcAddress): Row[] {
  return [hexRow("dlid", slid, 4), row("sl", sl), row("srcPathBits", dlidPathBits)];
}

/** Why `ibv_init_ah_from_wc` refuses a packet, as far as its GRH shows. */
export function faultOf(grh: Grh): string | undefined {
  if (grh.ipVersion === undefined) return "the GRH is neither an IPv4 nor an IPv6 header";
  const { dgid } = grh;
  if (!dgid.isMulticast) return undefined;
  return `the packet was sent to the multicast group ${dgid}: it does not name a GID of the receiver`;
}
