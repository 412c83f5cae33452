import { constants, enums } from "../ffi/layout.ts";

/** LIDs from this one on are multicast LIDs, or belong to no port (InfiniBand specification, 4.1.3). */
export const FIRST_MULTICAST_LID = 0xc000;

/** Whether every address of a port needs a GRH: RoCE, and InfiniBand ports that say so. */
export function needsGrh(port: { readonly linkLayer: number; readonly flags: number }): boolean {
  return port.linkLayer === constants.IBV_LINK_LAYER_ETHERNET ||
    (port.flags & constants.IBV_QPF_GRH_REQUIRED) !== 0;
}

/**
 * Whether addresses of a port may mean something else after an event: most events of the port, and a failure of the
 * device.
 */
export function changesAddresses(
  { eventType, portNum }: { readonly eventType: number; readonly portNum: number | undefined },
  port: number,
): boolean {
  const { IBV_EVENT_PKEY_CHANGE, IBV_EVENT_DEVICE_FATAL } = enums.ibv_event_type;
  return portNum === port
    ? eventType !== IBV_EVENT_PKEY_CHANGE
    : eventType === IBV_EVENT_DEVICE_FATAL;
}
