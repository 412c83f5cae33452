/** What a port says of the addresses on it. */
interface Port {
  readonly linkLayer: number;
  readonly flags: number;
}

// verbs.h
const IBV_LINK_LAYER_ETHERNET = 2;
const IBV_QPF_GRH_REQUIRED = 1;

/** Whether every address of a port needs a GRH: RoCE, and InfiniBand ports that say so. */
export function needsGrh({ linkLayer, flags }: Port): boolean {
  return linkLayer === IBV_LINK_LAYER_ETHERNET || (flags & IBV_QPF_GRH_REQUIRED) !== 0;
}
