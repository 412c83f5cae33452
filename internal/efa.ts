// verbs.h
const IBV_TRANSPORT_UNSPECIFIED = 4;

/** Whether a device is an Elastic Fabric Adapter: no other kernel driver has a transport of no known kind. */
export function isEfa({ transportType }: { readonly transportType: number }): boolean {
  return transportType === IBV_TRANSPORT_UNSPECIFIED;
}
