import { enums } from "../ffi/layout.ts";

/** Whether a device is an Elastic Fabric Adapter: no other kernel driver has a transport of no known kind. */
export function isEfa({ transportType }: { readonly transportType: number }): boolean {
  return transportType === enums.ibv_transport_type.IBV_TRANSPORT_UNSPECIFIED;
}
