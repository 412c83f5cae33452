// What doctor gathers on a healthy host.

import type { DeviceFacts, HostFacts, PortFacts } from "../../doctor/facts.ts";

export const NETDEV = {
  ...{ name: "eth0", isHere: true, isUp: true, hasCarrier: true, hasAddress: true, mtu: 1500 },
};
export const GID = { index: 1, gid: "::ffff:10.0.0.1", isRoceV2: true, isLinkLocal: false };
export const ROCE: PortFacts = {
  port: 1,
  state: "ACTIVE",
  isRoce: true,
  lid: 0,
  mtu: 1024,
  netdevs: [NETDEV],
  gid: GID,
  rises: { port_rcv_data: 7 },
  errors: {},
};
export const DEVICE: DeviceFacts = { name: "rxe0", error: null, ports: [ROCE] };
export const FILE = { name: "uverbs0", device: "rxe0", error: null };
export const LIBRARY = {
  path: "/usr/lib/libibverbs.so.1",
  error: null,
  suffix: "-rdmav34.so",
  providers: ["libmlx5-rdmav34.so", "librxe-rdmav34.so"],
};
export const HEALTHY: HostFacts = {
  kernel: "6.1.0",
  library: LIBRARY,
  uverbs: "6",
  rdmaUcm: true,
  namespaces: "shared",
  inKernel: ["rxe0"],
  files: [FILE],
  devices: [DEVICE],
  limits: { lockedMemory: null, openFiles: 1024 },
  seconds: 1,
};
