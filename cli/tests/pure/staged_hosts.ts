// Faults of hosts, and between two hosts, staged by records of what doctors would have gathered.

import { COUNTERS } from "../../doctor/counters.ts";
import type { DeviceFacts, HostFacts, PortFacts } from "../../doctor/facts.ts";
import { NO_WAY, NOT_TRIED } from "../../doctor/pair_checks.ts";
import type { Family, PairFacts, PairPort, Probe } from "../../doctor/pair_facts.ts";

const NETDEV = {
  ...{ name: "eth0", isHere: true, isUp: true, hasCarrier: true, hasAddress: true, mtu: 1500 },
};
const GID = { index: 1, gid: "::ffff:10.0.0.1", isRoceV2: true, reach: "networks" } as const;
const ROCE: PortFacts = {
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
const DEVICE: DeviceFacts = { name: "rxe0", error: null, ports: [ROCE] };
const FILE = { name: "uverbs0", device: "rxe0", error: null };
const LIBRARY = {
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

const INFINIBAND: PortFacts = {
  ...ROCE,
  isRoce: false,
  lid: 18,
  netdevs: [],
  gid: { ...GID, gid: "fe80::1", isRoceV2: false, reach: "link" },
};
const LINK_LOCAL = { ...GID, gid: "fe80::1", reach: "link" } as const;
const LOOPBACK = { ...GID, gid: "::ffff:127.0.0.1", reach: "host" } as const;

const withPort = (port: Partial<PortFacts>, base = ROCE): Partial<HostFacts> => ({
  devices: [{ ...DEVICE, ports: [{ ...base, ...port }] }],
});
const withFile = (error: string): Partial<HostFacts> => ({
  files: [{ ...FILE, error }],
  devices: [{ ...DEVICE, error: "Cannot open device", ports: [] }],
});
const withProviders = (...providers: string[]): Partial<HostFacts> => ({
  devices: [],
  library: { ...LIBRARY, providers },
});
const netdev = (facts: Partial<typeof NETDEV>): Partial<PortFacts> => ({
  netdevs: [{ ...NETDEV, ...facts }],
});
/** The first port works, and the other one does not. */
const TWO_PORTS = { ...ROCE, port: 2, state: "DOWN", ...netdev({ isUp: false }) };

const NONE = { uverbs: null, inKernel: [], files: [], devices: [] };
const MUSL = "a libibverbs that is built for musl is not supported";
const MISSING = "Cannot open libibverbs, tried:\n  libibverbs.so.1: no such file\nInstall it (apt)";

/** Hosts by their names: what is another fact there than on a healthy host. */
export const HOSTS: Readonly<Record<string, Partial<HostFacts>>> = {
  "healthy": {},
  "exclusive namespaces": { namespaces: "exclusive" },
  "InfiniBand": withPort({}, INFINIBAND),
  "a link-local GID of RoCE v1": withPort({ gid: { ...LINK_LOCAL, isRoceV2: false } }),
  "counters of packets": withPort({ rises: { sent_pkts: 5, rcvd_pkts: 5, rdma_sends: 1 } }),
  "high limits": { limits: { lockedMemory: 8 << 20, openFiles: null } },
  "errors of before": withPort({ errors: { qkeyViolCntr: 1, send_rnr_err: 4 } }),
  "no library": { library: { ...LIBRARY, error: MISSING }, devices: [] },
  "musl": { library: { ...LIBRARY, error: MUSL }, devices: [] },
  "no module": NONE,
  "no device": { ...NONE, uverbs: "6" },
  "another namespace": {
    ...{ namespaces: "exclusive", inKernel: [], devices: [], files: [{ ...FILE, error: "EPERM" }] },
  },
  "ENOENT": withFile("ENOENT"),
  "EACCES": withFile("EACCES"),
  "EPERM": withFile("EPERM"),
  "not listed": { devices: [] },
  "no provider": withProviders(),
  "other providers": withProviders("README", "librxe-rdmav25.so"),
  "EIO": { devices: [{ ...DEVICE, error: "EIO", ports: [] }] },
  "netdev elsewhere": withPort(netdev({ isHere: false, isUp: false, hasCarrier: false })),
  "tunnel": withPort(netdev({ hasAddress: false })),
  "netdev down": withPort({ state: "DOWN", ...netdev({ isUp: false }), gid: null }),
  "netdev down, port active": withPort(netdev({ isUp: false })),
  "no carrier": withPort({ state: "DOWN", ...netdev({ hasCarrier: false }) }),
  "DOWN": withPort({ state: "DOWN" }),
  "DOWN without a GID": withPort({ state: "DOWN", gid: null }),
  "DOWN with a link-local GID": withPort({ state: "DOWN", gid: LINK_LOCAL }),
  "INIT": withPort({ state: "INIT" }),
  "INIT of InfiniBand": withPort({ state: "INIT" }, INFINIBAND),
  "no GID": withPort({ gid: null }),
  "link-local GID": withPort({ gid: LINK_LOCAL }),
  "link-local GID of IPv4": withPort({ gid: { ...LINK_LOCAL, gid: "::ffff:169.254.1.2" } }),
  "GID of the loopback interface": withPort({ gid: LOOPBACK }),
  "DOWN with a loopback GID": withPort({ state: "DOWN", gid: LOOPBACK }),
  "one port of two": { devices: [{ ...DEVICE, ports: [ROCE, TWO_PORTS] }] },
  ...Object.fromEntries(
    Object.entries(COUNTERS).map(([id, { counters }]) => [
      `counters of ${id}`,
      withPort({ rises: Object.fromEntries(counters.map((name) => [name, 3])) }),
    ]),
  ),
  "counters of a cause": withPort({ rises: { rcvd_rnr_err: 1, completer_retry_err: 1 } }),
  "64 KiB, 127 files": { limits: { lockedMemory: 65_536, openFiles: 127 } },
  "1 MiB, 128 files": { limits: { lockedMemory: 1 << 20, openFiles: 128 } },
  "no rdma_ucm": { rdmaUcm: false },
  "broken, and warnings": {
    ...{ ...withPort({ gid: null }), rdmaUcm: false, limits: { lockedMemory: 0, openFiles: 9 } },
  },
};

/** A port that has GIDs of some families. */
export const pairPort = (...families: readonly Family[]): PairPort => ({
  device: "rxe0",
  port: 1,
  isRoce: true,
  mtu: 1024,
  pkey: 0xffff,
  gids: families.map((family, index) => ({ index, gid: `${family}-${index}`, family })),
});
export const side = (changes: Partial<PairPort> = {}): PairFacts["here"] => ({
  findings: [],
  port: { ...pairPort("IPv4"), ...changes },
});

/** Probes of one direction, by how many of 8 messages arrive, or a status. */
function probes(...results: readonly (number | string)[]): Probe[] {
  return results.map((result, i): Probe => {
    const probe = { service: i < 2 ? "UD" as const : "RC" as const, size: i % 2 === 0 ? 64 : 1024 };
    return typeof result === "number"
      ? { ...probe, sent: 8, received: result, status: "SUCCESS" }
      : { ...probe, sent: result.includes(" ") ? 0 : 8, received: 0, status: result };
  });
}

const GOOD = probes(8, 8, 8, 8);
const ALL_LOST = probes(0, NOT_TRIED, NOT_TRIED, NOT_TRIED);
const LARGE_LOST = probes(8, 0, 8, NOT_TRIED);
const ENDED = { gids: null, out: [], in: [] };
export const PAIR: PairFacts = {
  host: "b",
  here: side(),
  there: side(),
  gids: { here: "::1", there: "::2" },
  mtu: 1024,
  out: GOOD,
  in: GOOD,
};
export const DOWN = { id: "link-down", subject: "rxe0 port 1", problem: "no link", remedy: "plug" };
const OF_INFINIBAND = side({ isRoce: false });

/** Pairs of hosts by their names: what is another fact there than between healthy hosts. */
export const PAIRS: Readonly<Record<string, Partial<PairFacts>>> = {
  "healthy": {},
  "a member that is not full": { here: side({ pkey: 0x7fff }) },
  "broken peer": { there: { findings: [{ ...DOWN, level: "broken" }], port: null }, ...ENDED },
  "other technology": { there: OF_INFINIBAND, ...ENDED },
  "other family": { there: side(pairPort("IPv6", "link-local")), ...ENDED },
  "other P_Key": { there: side({ pkey: 0x8001 }) },
  "no way": {
    ...{ out: probes(`${NO_WAY}ENOENT`, NOT_TRIED, NOT_TRIED, NOT_TRIED), in: probes(NOT_TRIED) },
  },
  "all lost": { out: ALL_LOST, in: ALL_LOST },
  "outgoing lost": { out: ALL_LOST },
  "outgoing lost on InfiniBand": { here: OF_INFINIBAND, there: OF_INFINIBAND, out: ALL_LOST },
  "incoming lost": { in: ALL_LOST },
  "large outgoing lost": { out: LARGE_LOST },
  "large incoming lost": { in: LARGE_LOST },
  "no connection": { in: probes(8, 8, "RETRY_EXC_ERR", NOT_TRIED) },
  "some lost": { out: probes(8, 5, 8, 8) },
  "some of both sizes lost": { out: probes(7, 5, 8, 8) },
  "other MTU": { there: side({ mtu: 4096 }) },
  "each kind of probe": {
    out: probes(8, 5, "RETRY_EXC_ERR", NOT_TRIED),
    in: GOOD.map((probe) => ({ ...probe, status: "RETRY_EXC_ERR" })),
  },
};
