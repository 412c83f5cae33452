// verbs.h
const IBV_LINK_LAYER_ETHERNET = 2;
const IBV_QPF_GRH_REQUIRED = 1;

/** Whether every address of a port needs a GRH: RoCE, and InfiniBand ports that say so. */
export function needsGrh(port: { readonly linkLayer: number; readonly flags: number }): boolean {
  return port.linkLayer === IBV_LINK_LAYER_ETHERNET || (port.flags & IBV_QPF_GRH_REQUIRED) !== 0;
}
