/** The 40 bytes in front of the payload of a UD receive, in both forms. */

import { drawing, type Kind, label, row } from "./svg.ts";

const LEFT = 20;
const BYTE = 22;

type Field = readonly [bytes: number, kind: Kind, name: string, below?: string];

const IPV6: readonly Field[] = [
  [4, "header", "version", "tclass flow"],
  [2, "plain", "length"],
  [1, "number", "nxt"],
  [1, "header", "hop"],
  [16, "header", "sgid", "GID of the sender"],
  [16, "header", "dgid", "GID that the packet was sent to"],
];

const IPV4: readonly Field[] = [
  [20, "empty", "undefined", "rxe writes zeros"],
  [1, "number", "45"],
  [1, "header", "tos"],
  [2, "plain", "length"],
  [2, "plain", "id"],
  [2, "plain", "frag"],
  [1, "header", "ttl"],
  [1, "plain", "17"],
  [2, "number", "sum"],
  [4, "header", "source", "10.0.0.7"],
  [4, "header", "dest", "10.0.0.2"],
];

/** Draws where the fields of a GRH are. */
export function grh(): string {
  const marks = Array.from({ length: 11 }, (_, i) => 4 * i);
  return drawing("The 40 bytes of a GRH: IPv6 or InfiniBand, and IPv4", 920, 262, [
    label("InfiniBand, RoCE v1, RoCE v2 over IPv6: Grh.ipVersion is 6", LEFT, 28, "title"),
    fields(40, IPV6),
    label("RoCE v2 over IPv4: Grh.ipVersion is 4", LEFT, 148, "title"),
    fields(160, IPV4),
    ...[106, 226].flatMap((y) =>
      marks.map((mark) => label(`${mark}`, LEFT + mark * BYTE, y, "small faint", "middle"))
    ),
    label(
      "Byte offsets. Blue fields give the address of the reply. Yellow ones tell which form it is.",
      LEFT,
      252,
      "small faint",
    ),
  ]);
}

function fields(y: number, list: readonly Field[]): string {
  return row(
    LEFT,
    y,
    50,
    list.map(([bytes, kind, name, below = ""]) => [bytes * BYTE, kind, name, below] as const),
  );
}
