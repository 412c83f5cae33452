import type { Context } from "./context.ts";
import { TransportType } from "./device.ts";

/** Whether a device is an Elastic Fabric Adapter: no other kernel driver has a transport of no known kind. */
export function isEfa({ device }: Context): boolean {
  return device.transportType === TransportType.UNSPECIFIED;
}
