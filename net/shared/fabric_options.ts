import { option, type Rules, within } from "../../internal/options.ts";
import type { AhAttrInit } from "../../mod.ts";

/**
 * Options that packets carry for the switches on their way.
 *
 * @category Connections
 */
export interface FabricOptions {
  /**
   * The traffic class (IPv6) or type of service (IPv4) of the packets, 0 to 255: four times the DSCP, so that 104 is
   * DSCP 26. Networks for RoCE often have a lossless class for one DSCP. Each end chooses it for what it sends. The
   * default is 0; in a connection by `port` it is the `default_roce_tos` of the host, or what the request of the peer
   * states; in a reply to a datagram it is that of the datagram. It has no effect on InfiniBand within a subnet.
   */
  readonly trafficClass?: number | undefined;
  /**
   * The service level, 0 to 15: on InfiniBand it chooses the virtual lane, on RoCE some adapters use it as the priority
   * of the VLAN. The default is 0; in a connection by `port` it is that of the path; in a reply to a datagram it is
   * that of the datagram.
   */
  readonly sl?: number | undefined;
}

/** `FabricOptions` that were read. */
export interface FabricSettings {
  readonly trafficClass: number | undefined;
  readonly sl: number | undefined;
}

export const FABRIC_RULES: Rules<FabricSettings> = {
  trafficClass: option(within(0, 255), undefined),
  sl: option(within(0, 15), undefined),
};

/** An address with the options for its packets. */
export function onFabric(attr: AhAttrInit, { trafficClass, sl }: FabricSettings): AhAttrInit {
  const { grh } = attr;
  return {
    ...attr,
    ...sl !== undefined && { sl },
    ...grh !== undefined && trafficClass !== undefined && { grh: { ...grh, trafficClass } },
  };
}

/** The options that are given. */
export function givenOf({ trafficClass, sl }: FabricSettings): FabricOptions {
  return {
    ...trafficClass !== undefined && { trafficClass },
    ...sl !== undefined && { sl },
  };
}
