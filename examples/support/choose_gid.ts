/** Chooses the GID to send from, and says why. */

import { type Context, type GidEntry, GidType } from "@rdma/ibverbs";

/** A GID and the reason for it. */
export interface GidChoice {
  readonly entry: GidEntry;
  readonly reason: string;
}

const PREFERENCES: readonly { reason: string; test: (entry: GidEntry) => boolean }[] = [
  {
    reason: "RoCE v2 over IPv4, which routers forward",
    test: (entry) => isRoceV2(entry) && entry.gid.isIpv4Mapped && !isLinkLocal(entry),
  },
  {
    reason: "RoCE v2 over IPv6 with a global address, which routers forward",
    test: (entry) => isRoceV2(entry) && !entry.gid.isIpv4Mapped && !isLinkLocal(entry),
  },
  {
    reason: "RoCE v2, link-local: it reaches peers on the same link only",
    test: isRoceV2,
  },
  {
    reason: "the first of a table without RoCE v2",
    test: () => true,
  },
];

/**
 * The GID of a port to send from: the one with that index, otherwise the one that reaches most peers.
 *
 * @throws {RangeError} If the port has no GID.
 */
export function chooseGid(context: Context, port: number, index?: number): GidChoice {
  if (index !== undefined) {
    return { entry: context.queryGidEx(port, index), reason: "given" };
  }
  const table = context.gidTable(port);
  for (const { reason, test } of PREFERENCES) {
    const entry = table.find(test);
    if (entry !== undefined) return { entry, reason };
  }
  throw new RangeError(
    `Cannot choose a GID: the table of port ${port} of "${context.device.name}" is empty`,
  );
}

function isRoceV2({ gidType }: GidEntry): boolean {
  return gidType === GidType.ROCE_V2;
}

/** fe80::/10, and 169.254.0.0/16: addresses that hosts without an assigned one give themselves. */
function isLinkLocal({ gid }: GidEntry): boolean {
  return gid.isLinkLocal || (gid.isIpv4Mapped && gid.toString().startsWith("::ffff:169.254."));
}
