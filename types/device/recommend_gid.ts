import { type Gid, type GidEntry, GidType } from "../address/gid.ts";
import { TransportType } from "./device.ts";

interface Rule {
  readonly matches: (entry: GidEntry) => boolean;
  readonly reason: string;
}

const isRoceV2 = ({ gidType }: GidEntry): boolean => gidType === GidType.ROCE_V2;

/** The best GIDs first. */
const RULES: readonly Rule[] = [
  {
    matches: (entry) => isRoceV2(entry) && entry.gid.isIpv4Mapped,
    reason: "RoCE v2 with an IPv4 address: it reaches other subnets, and most peers have one",
  },
  {
    matches: (entry) => isRoceV2(entry) && !entry.gid.isLinkLocal,
    reason: "RoCE v2 with a global IPv6 address: it reaches other subnets",
  },
  {
    matches: isRoceV2,
    reason: "RoCE v2 with a link-local IPv6 address: it reaches peers on the same link only",
  },
  {
    matches: () => true,
    reason: "RoCE v1 or InfiniBand: the port has no GID of RoCE v2",
  },
];

/** Why a port has no better one, on devices of other transports. */
const OTHERS: Partial<Record<TransportType, string>> = {
  [TransportType.IWARP]: "iWARP: connections use IP addresses, and this GID only names the port",
  [TransportType.UNSPECIFIED]: "an Elastic Fabric Adapter has one GID",
};

/**
 * Recommends one of a port's GIDs. The interfaces of containers may share a port: GIDs of interfaces that `isHere` does
 * not find are a last resort.
 *
 * @throws {Deno.errors.NotFound} If none is usable.
 */
export function recommendGid(
  entries: readonly GidEntry[],
  port: number,
  transport: TransportType = TransportType.IB,
  isHere: (ndevIfindex: number) => boolean = () => true,
): GidEntry & { readonly reason: string } {
  const usable = entries
    .filter(({ gid }) => !gid.isZero && !isSelfAssigned(gid))
    .sort((a, b) => a.gidIndex - b.gidIndex);
  const here = usable.filter(({ ndevIfindex }) => ndevIfindex === 0 || isHere(ndevIfindex));
  const candidates = here.length > 0 ? here : usable;
  for (const { matches, reason } of RULES) {
    const entry = candidates.find(matches);
    if (entry !== undefined) return { ...entry, reason: OTHERS[transport] ?? reason };
  }
  throw new Deno.errors.NotFound(
    `Cannot recommend GID: none of the ${entries.length} GIDs of port ${port} is usable. ` +
      "A RoCE port needs a network interface that is up and has an address",
  );
}

/** Whether it is an IPv4 address of 169.254.0.0/16, or 0.0.0.0: hosts give them to themselves, so they may not be unique. */
function isSelfAssigned(gid: Gid): boolean {
  if (!gid.isIpv4Mapped) return false;
  const ipv4 = gid.bytes.subarray(12);
  return ipv4[0] === 169 && ipv4[1] === 254 || ipv4.every((byte) => byte === 0);
}
