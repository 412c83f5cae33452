/** Why a device refuses an address: of an address handle, or of the peer of a queue pair. */

import { needsGrh } from "../../internal/ports.ts";
import type { Gid } from "../address/gid.ts";
import { causeOf, type Causes, type Words } from "../core/causes.ts";
import { nameOf } from "../core/enums.ts";
import type { Context } from "./context.ts";
import { LinkLayer, PortState } from "./port.ts";
import { providerCause } from "./provider_facts.ts";

/** An address, and the device that refused it. */
export interface HintedAddress {
  readonly context: Context;
  readonly portNum: number;
  readonly grh?: { readonly sgidIndex: number; readonly dgid: Gid } | undefined;
}

/** Why every address of a port needs a GRH. */
export const NEEDS_GRH = {
  ETHERNET: "Port {portNum} is Ethernet (RoCE), where every address needs a GRH",
  OTHER: "Port {portNum} needs a GRH in every address (IBV_QPF_GRH_REQUIRED)",
} as const;

/** The hint for a port that `linkDown` finds. */
export const LINK_DOWN =
  "Port {portNum} of {device} is {state}: nothing is sent while its link is down";

const EMPTY =
  "Slot {sgidIndex} of the GID table is empty: context.queryGidTable() lists the used slots";
const UNRESOLVED =
  "The peer's link address was not resolved in time: is the peer up, and on this network?";

/** Failures that a port causes while it is down, for all verbs that look for a route from it. */
export const PORT_CAUSES: Causes<Pick<HintedAddress, "context" | "portNum">> = [
  [
    "ENODATA, ENOENT, ETIMEDOUT, ENETDOWN, ENETUNREACH, EHOSTUNREACH",
    LINK_DOWN,
    ({ context, portNum }) => linkDown(context, portNum),
  ],
];

// libmlx4 and libmlx5 refuse an address without an errno.
export const ADDRESS_CAUSES: Causes<HintedAddress> = [
  ["EINVAL, unknown", `${NEEDS_GRH.ETHERNET}: give grh`, (address) => lacksGrh(address, true)],
  ["EINVAL, unknown", `${NEEDS_GRH.OTHER}: give grh`, (address) => lacksGrh(address, false)],
  ["EINVAL, unknown", "GID index {sgidIndex} is beyond the port's table of {gidTblLen}", isBeyond],
  [
    "EINVAL, unknown",
    EMPTY,
    ({ context, portNum, grh }) =>
      grh && context.queryGid(portNum, grh.sgidIndex).isZero && { ...grh },
  ],
  [
    "EINVAL, unknown",
    "The GIDs are of different families: {sgid} cannot reach {dgid}",
    areOfTwoFamilies,
  ],
  [
    "EINVAL, unknown, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH",
    "{loopback} is a loopback address, which reaches its own host only, and {other} is none",
    isHalfLoopback,
  ],
  ...PORT_CAUSES,
  ["ENODATA", EMPTY, ({ grh }) => grh && { ...grh }],
  [
    "ETIMEDOUT",
    `${UNRESOLVED} {dgid} reaches only the link of GID index {sgidIndex}`,
    ({ grh }) => grh?.dgid.reach === "link" && { ...grh },
  ],
  ["ETIMEDOUT", UNRESOLVED, ({ grh }) => grh !== undefined],
  [
    "ENETUNREACH, EHOSTUNREACH",
    "There is no route from GID index {sgidIndex} to {dgid}",
    ({ grh }) => grh && { ...grh },
  ],
];

/** Why a device refuses an address, or a verb that looks for a route to one. */
export function addressCause(code: string, address: HintedAddress): string | undefined {
  const { context, grh } = address;
  const own = grh === undefined
    ? providerCause(context.device, "addressWithoutGrh", code)
    : undefined;
  return own ?? causeOf(ADDRESS_CAUSES, code, address);
}

/** The words of a port whose link is down. */
export function linkDown(context: Context, portNum: number): Words | undefined {
  const { state } = context.queryPort(portNum);
  if (state === PortState.ACTIVE) return undefined;
  return { portNum, device: context.device.name, state: nameOf(PortState, state) };
}

/** Whether an address has no GRH, and its port, which is Ethernet or not, needs one. */
export function lacksGrh({ context, portNum, grh }: HintedAddress, isEthernet: boolean): boolean {
  const port = context.queryPort(portNum);
  return grh === undefined && needsGrh(port) &&
    (port.linkLayer === LinkLayer.ETHERNET) === isEthernet;
}

function isBeyond({ context, portNum, grh }: HintedAddress): Words | undefined {
  const { gidTblLen } = context.queryPort(portNum);
  return grh && grh.sgidIndex >= gidTblLen ? { ...grh, gidTblLen } : undefined;
}

function areOfTwoFamilies({ context, portNum, grh }: HintedAddress): Words | undefined {
  if (grh === undefined || grh.dgid.isMulticast) return undefined;
  const sgid = context.queryGid(portNum, grh.sgidIndex);
  return sgid.isIpv4Mapped === grh.dgid.isIpv4Mapped ? undefined : { sgid, dgid: grh.dgid };
}

/** One GID that reaches its own host only, and one of another kind. */
function isHalfLoopback({ context, portNum, grh }: HintedAddress): Words | undefined {
  if (grh === undefined) return undefined;
  const sgid = context.queryGid(portNum, grh.sgidIndex);
  const { dgid } = grh;
  const [isOurs, isTheirs] = [sgid.reach === "host", dgid.reach === "host"];
  if (isOurs === isTheirs) return undefined;
  return isOurs ? { loopback: sgid, other: dgid } : { loopback: dgid, other: sgid };
}
