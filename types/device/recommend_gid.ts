import type { DrivenDevice } from "../../internal/provider_table.ts";
import type { Reach } from "../../internal/reach.ts";
import { type Gid, type GidEntry, GidType, reachOfSlot } from "../address/gid.ts";
import { TransportType } from "./device.ts";
import { providerFacts } from "./provider_facts.ts";

/**
 * A GID of a port, and why it is the one to send from.
 *
 * @category Devices and ports
 */
export interface RecommendedGid extends GidEntry {
  /** The reason, in a sentence. */
  readonly reason: string;
  /** How far packets that are sent from it go. It is undefined where GIDs are no IP addresses, as on iWARP devices. */
  readonly reach: Reach | undefined;
}

interface Rule {
  readonly matches: (entry: GidEntry, reach: Reach) => boolean;
  readonly reason: string;
}

const isRoceV2 = ({ gidType }: GidEntry): boolean => gidType === GidType.ROCE_V2;

/** Hosts choose such addresses themselves, so they may not be unique. */
const isIpv4LinkLocal = ({ gid }: GidEntry): boolean => gid.isIpv4Mapped && gid.reach === "link";

const LOOPBACK = "RoCE v2 on the loopback interface: it reaches this host only";
const NOT_V2 = "RoCE v1 or InfiniBand: the port has no GID of RoCE v2";

/** The best GIDs first. */
const RULES: readonly Rule[] = [
  {
    matches: (entry, reach) => isRoceV2(entry) && reach === "networks" && entry.gid.isIpv4Mapped,
    reason: "RoCE v2 with an IPv4 address: it reaches other subnets, and most peers have one",
  },
  {
    matches: (entry, reach) => isRoceV2(entry) && reach === "networks",
    reason: "RoCE v2 with a global IPv6 address: it reaches other subnets",
  },
  {
    matches: (entry, reach) => isRoceV2(entry) && reach === "link" && !isIpv4LinkLocal(entry),
    reason: "RoCE v2 with a link-local IPv6 address: it reaches peers on the same link only",
  },
  {
    matches: (entry, reach) => isRoceV2(entry) && reach === "link",
    reason: "RoCE v2 with a link-local IPv4 address: it reaches peers on the same link only",
  },
  { matches: (entry) => isRoceV2(entry) && entry.gid.reach === "host", reason: LOOPBACK },
  { matches: isRoceV2, reason: LOOPBACK },
  { matches: (entry) => !isIpv4LinkLocal(entry), reason: NOT_V2 },
  { matches: () => true, reason: NOT_V2 },
];

const IWARP = "iWARP: connections use IP addresses, and this GID only names the port";

/** Why a device has no better GID, where its GIDs are no IP addresses; undefined on other devices. */
export function onlyReason(device: DrivenDevice): string | undefined {
  return device.transportType === TransportType.IWARP ? IWARP : providerFacts.of(device)?.gidReason;
}

/**
 * Recommends one of a port's GIDs. The interfaces of containers may share a port: GIDs of interfaces that `isHere` does
 * not find are a last resort.
 *
 * @param other The result of `onlyReason` for the device.
 * @throws {Deno.errors.NotFound} If none is usable.
 */
export function recommendGid(
  entries: readonly GidEntry[],
  port: number,
  other?: string,
  isHere: (ndevIfindex: number) => boolean = () => true,
): RecommendedGid {
  const usable = entries.filter(({ gid }) => !isNone(gid)).sort((a, b) => a.gidIndex - b.gidIndex);
  const here = usable.filter(({ ndevIfindex }) => ndevIfindex === 0 || isHere(ndevIfindex));
  const candidates = here.length > 0 ? here : usable;
  for (const { matches, reason } of RULES) {
    const entry = candidates.find((entry) => matches(entry, reachOfSlot(entry)));
    if (entry === undefined) continue;
    if (other !== undefined) return { ...entry, reason: other, reach: undefined };
    return { ...entry, reason, reach: reachOfSlot(entry) };
  }
  throw new Deno.errors.NotFound(
    `Cannot recommend GID: none of the ${entries.length} GIDs of port ${port} is usable. ` +
      "A RoCE port needs a network interface that is up and has an address",
  );
}

/** Whether it is the GID of no host: all zeros, or 0.0.0.0. */
function isNone(gid: Gid): boolean {
  return gid.isZero || gid.isIpv4Mapped && gid.bytes.subarray(12).every((byte) => byte === 0);
}
