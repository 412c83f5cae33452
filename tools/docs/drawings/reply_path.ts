/** The reply path of a datagram, from the packet that arrives to the packet that answers it. */

import { arrow, box, boxHeight, drawing, label, row } from "./svg.ts";

const WIDTH = 900;
const LEFT = 20;

/** Draws the reply path over RoCE v2 with IPv4. */
export function replyPath(): string {
  const wc = ["wcFlags  GRH", "srcQp    0x000012", "byteLen  40 + 64", "slid, sl (InfiniBand)"];
  const attr = [
    "grh.dgid          ::ffff:10.0.0.7   source address",
    "grh.sgidIndex     1                 its GID is ::ffff:10.0.0.2",
    "grh.hopLimit      64                TTL of the packet",
    "grh.trafficClass  0                 TOS of the packet",
    "isGlobal          true",
    "portNum           1                 your argument",
    "dlid, sl          0, 0              slid, sl of the completion",
  ];
  const send = ["ah          new handle", "remoteQpn   wc.srcQp", "remoteQkey  agreed before"];
  return drawing(
    "The reply path of an unreliable datagram: packet in, receive buffer and work completion, address, packet out",
    WIDTH,
    602,
    [
      label("1. Packet in, from 10.0.0.7 to 10.0.0.2", LEFT, 28, "title"),
      packet(40, "10.0.0.7", "10.0.0.2", "to QP 0x11", "from QP 0x12"),
      label("2. Receive buffer", LEFT, 138, "title"),
      row(LEFT, 150, 50, [
        [190, "empty", "bytes 0 to 19", "undefined"],
        [190, "header", "bytes 20 to 39", "IPv4 header"],
        [200, "data", "bytes 40 to 103", "payload, 64 bytes"],
      ]),
      label("0", LEFT, 214, "small faint", "middle"),
      label("20", LEFT + 190, 214, "small faint", "middle"),
      label("40", LEFT + 380, 214, "small faint", "middle"),
      label("mr.grhAt(0)", LEFT + 8, 240, "code"),
      `<polyline class="line" points="${LEFT},218 ${LEFT},224 ${LEFT + 380},224 ${
        LEFT + 380
      },218"/>`,
      box({ x: 660, y: 134, w: 220, h: boxHeight(wc.length) }, "number", "3. WorkCompletion", wc),
      arrow([215, 92], [305, 150]),
      arrow([605, 92], [605, 112], [770, 112], [770, 134]),
      box(
        { x: LEFT, y: 288, w: 480, h: boxHeight(attr.length) },
        "header",
        "4. AhAttr, from initAhFromWc()",
        attr,
      ),
      arrow([305, 224], [305, 288]),
      arrow([660, 220], [420, 220], [420, 288]),
      box(
        { x: 610, y: 318, w: 270, h: boxHeight(send.length) },
        "number",
        "5. SendRequest",
        send,
      ),
      arrow([500, 365], [610, 365]),
      label("AddressHandle", 508, 357, "small faint"),
      arrow([770, 236], [770, 318]),
      label("srcQp", 778, 280, "small faint"),
      label("6. Packet out, from 10.0.0.2 to 10.0.0.7", LEFT, 504, "title"),
      packet(516, "10.0.0.2", "10.0.0.7", "to QP 0x12", "from QP 0x11"),
      arrow([740, 403], [740, 460], [740, 516]),
      label(
        "The colours show where each part comes from: addresses blue, queue pair numbers yellow, data green.",
        LEFT,
        588,
        "small faint",
      ),
    ],
  );
}

function packet(y: number, from: string, to: string, bth: string, deth: string): string {
  return row(LEFT, y, 52, [
    [90, "plain", "Ethernet"],
    [210, "header", "IPv4", `${from} > ${to}`],
    [90, "plain", "UDP", "port 4791"],
    [120, "number", "BTH", bth],
    [150, "number", "DETH", deth],
    [140, "data", "payload"],
    [60, "plain", "ICRC"],
  ]);
}
