// Every fault of a host, staged by a record of what doctor would have gathered.

import { assertEquals } from "@std/assert";
import { CHECKS } from "../../doctor.ts";
import { COUNTERS } from "../../doctor/counters.ts";
import type { HostFacts, PortFacts } from "../../doctor/facts.ts";
import { type Finding, findingsOf } from "../../doctor/finding.ts";
import { pageOf, statusOf } from "../../doctor/page.ts";
import { DEVICE, FILE, GID, HEALTHY, LIBRARY, NETDEV, ROCE } from "./healthy_host.ts";
import { ran, recorder } from "./terminal.ts";

const INFINIBAND: PortFacts = {
  ...ROCE,
  isRoce: false,
  lid: 18,
  netdevs: [],
  gid: { ...GID, gid: "fe80::1", isRoceV2: false, isLinkLocal: true },
};

const withPort = (port: Partial<PortFacts>, base = ROCE): Partial<HostFacts> => ({
  devices: [{ ...DEVICE, ports: [{ ...base, ...port }] }],
});
const withFile = (error: string): Partial<HostFacts> => ({
  files: [{ ...FILE, error }],
  devices: [{ ...DEVICE, error: "Cannot open device", ports: [] }],
});
const rising = (name: string): Partial<HostFacts> => withPort({ rises: { [name]: 3 } });
const netdev = (facts: Partial<typeof NETDEV>): Partial<PortFacts> => ({
  netdevs: [{ ...NETDEV, ...facts }],
});

const NONE = { uverbs: null, inKernel: [], files: [], devices: [] };
const MUSL = "a libibverbs that is built for musl is not supported";
const MISSING = "Cannot open libibverbs, tried:\n  libibverbs.so.1: no such file\nInstall it (apt)";

/** What is found first where a fact is another one than on a healthy host. */
const FAULTS: readonly (readonly [facts: Partial<HostFacts>, found: string])[] = [
  [{ library: { ...LIBRARY, error: MISSING }, devices: [] }, "broken no-library libibverbs"],
  [{ library: { ...LIBRARY, error: MUSL }, devices: [] }, "broken no-library libibverbs"],
  [NONE, "broken no-module kernel"],
  [{ ...NONE, uverbs: "6" }, "broken no-device kernel"],
  [
    { namespaces: "exclusive", inKernel: [], devices: [], files: [{ ...FILE, error: "EPERM" }] },
    "broken exclusive-namespace rxe0",
  ],
  [withFile("ENOENT"), "broken no-device-file rxe0"],
  [withFile("EACCES"), "broken no-rights rxe0"],
  [withFile("EPERM"), "broken forbidden rxe0"],
  [{ devices: [] }, "broken no-provider rxe0"],
  [{ devices: [], library: { ...LIBRARY, providers: [] } }, "broken no-provider rxe0"],
  [
    { devices: [], library: { ...LIBRARY, providers: ["README", "librxe-rdmav25.so"] } },
    "broken provider-version rxe0",
  ],
  [{ devices: [{ ...DEVICE, error: "EIO", ports: [] }] }, "broken cannot-open rxe0"],
  [
    withPort(netdev({ isHere: false, isUp: false, hasCarrier: false })),
    "broken netdev-namespace rxe0 port 1",
  ],
  [withPort(netdev({ hasAddress: false })), "broken no-hardware-address rxe0 port 1"],
  [withPort({ state: "DOWN", ...netdev({ isUp: false }) }), "broken netdev-down rxe0 port 1"],
  [withPort({ state: "DOWN", ...netdev({ hasCarrier: false }) }), "broken link-down rxe0 port 1"],
  [withPort({ state: "INIT" }, INFINIBAND), "broken link-down rxe0 port 1"],
  [withPort({ gid: null }), "broken no-gid rxe0 port 1"],
  [
    withPort({ gid: { ...GID, gid: "fe80::1", isLinkLocal: true } }),
    "warning link-local-only rxe0 port 1",
  ],
  [rising("qkeyViolCntr"), "warning wrong-qkey rxe0 port 1"],
  [rising("badPkeyCntr"), "warning wrong-pkey rxe0 port 1"],
  [rising("send_rnr_err"), "warning no-receive rxe0 port 1"],
  [rising("rcvd_rnr_err"), "warning peer-no-receive rxe0 port 1"],
  [rising("rx_icrc_encapsulated"), "warning bad-icrc rxe0 port 1"],
  [rising("symbol_error"), "warning link-errors rxe0 port 1"],
  [rising("send_err"), "warning send-errors rxe0 port 1"],
  [rising("out_of_seq_request"), "warning out-of-order rxe0 port 1"],
  [
    withPort({ rises: { rcvd_rnr_err: 1, completer_retry_err: 1 } }),
    "warning peer-no-receive rxe0 port 1",
  ],
  [rising("completer_retry_err"), "warning retries rxe0 port 1"],
  [{ limits: { lockedMemory: 65_536, openFiles: 1024 } }, "warning locked-memory limits"],
  [{ limits: { lockedMemory: null, openFiles: 64 } }, "warning open-files limits"],
  [{ rdmaUcm: false }, "warning no-rdma-ucm kernel"],
];

/** What is in order, or not this host's fault. */
const HEALTHY_HOSTS: readonly Partial<HostFacts>[] = [
  {},
  { namespaces: "exclusive" },
  withPort({}, INFINIBAND),
  withPort({ gid: { ...GID, gid: "fe80::1", isRoceV2: false, isLinkLocal: true } }),
  withPort({ rises: { sent_pkts: 5, rcvd_pkts: 5, rdma_sends: 1 } }),
  { limits: { lockedMemory: 8 << 20, openFiles: null } },
];

const found = (facts: Partial<HostFacts>): Finding[] =>
  findingsOf(CHECKS, { ...HEALTHY, ...facts });
const briefly = ({ level, id, subject }: Finding): string => `${level} ${id} ${subject}`;

Deno.test("doctor finds each fault, alone and with a remedy", () => {
  const staged = FAULTS.map(([facts]) => found(facts));
  assertEquals(staged.map((list) => list.map(briefly)), FAULTS.map(([, first]) => [first]));
  for (const { problem, remedy } of staged.flat()) {
    assertEquals([problem, remedy].map((text) => /undefined|NaN|\n|^$/.test(text)), [false, false]);
  }
});

Deno.test("doctor knows what each counter of errors means", () => {
  for (const [id, { counters }] of Object.entries(COUNTERS)) {
    for (const counter of counters) {
      const [{ id: meaning, problem }, ...others] = found(rising(counter)) as [Finding];
      assertEquals([meaning, others], [id, []], counter);
      assertEquals(problem.endsWith(` (${counter} +3 in 1 s)`), true, problem);
    }
  }
});

Deno.test("doctor tells why a link is down, and blames an address only on a port that works", () => {
  const problem = (facts: Partial<HostFacts>): string[] =>
    found(facts).map(({ problem }) => problem);
  const silent = withPort({ state: "DOWN", ...netdev({ hasCarrier: false }) });
  assertEquals(problem(silent), [
    "there is no link: its state is DOWN, and its network interface eth0 has no carrier",
  ]);
  assertEquals(problem(withPort({ state: "DOWN" })), ["there is no link: its state is DOWN"]);
  assertEquals(problem(withPort({ state: "INIT" })), ["there is no link: its state is INIT"]);
  assertEquals(problem(withPort({ state: "INIT" }, INFINIBAND)), [
    "the link is up, and no subnet manager has made it active (INIT)",
  ]);
  assertEquals(problem(withPort(netdev({ isUp: false }))), []);
  const without = { state: "DOWN", gid: null };
  assertEquals(found(withPort(without)).map(briefly), ["broken link-down rxe0 port 1"]);
  const local = { ...GID, gid: "fe80::1", isLinkLocal: true };
  assertEquals(found(withPort({ state: "DOWN", gid: local })).map(briefly), [
    "broken link-down rxe0 port 1",
  ]);
  const files = (openFiles: number): string[] =>
    found({ limits: { lockedMemory: null, openFiles } }).map(briefly);
  assertEquals([files(127), files(128)], [["warning open-files limits"], []]);
});

Deno.test("doctor shows a warning in yellow, what is broken in red, and all else in green", () => {
  const styles = (facts: Partial<HostFacts>): string[] =>
    pageOf(found(facts), { ...HEALTHY, ...facts }).flat()
      .flatMap((part) => typeof part === "string" ? [] : [`${part.text} ${part.style}`]);
  const all = new Set([
    ...styles({ limits: { lockedMemory: 0, openFiles: 1024 } }),
    ...styles(withPort({ gid: null })),
  ]);
  assertEquals([...all].sort(), ["broken red", "ok green", "warning yellow"]);
});

Deno.test("doctor finds nothing on healthy hosts", () => {
  for (const facts of HEALTHY_HOSTS) assertEquals(found(facts), []);
});

Deno.test("doctor warns of a port that is down where another one works, and puts what is broken first", () => {
  const down = { ...ROCE, port: 2, state: "DOWN", ...netdev({ isUp: false }) };
  const two = { devices: [{ ...DEVICE, ports: [ROCE, down] }] };
  assertEquals(found(two).map(briefly), ["warning netdev-down rxe0 port 2"]);
  const both = { ...withPort({ gid: null }), rdmaUcm: false };
  assertEquals(found({ ...both, limits: { lockedMemory: 0, openFiles: 9 } }).map(briefly), [
    "broken no-gid rxe0 port 1",
    "warning locked-memory limits",
    "warning open-files limits",
    "warning no-rdma-ucm kernel",
  ]);
});

function printed(facts: Partial<HostFacts>): string[] {
  const kept = recorder();
  const findings = found(facts);
  kept.terminal.print(pageOf(findings, { ...HEALTHY, ...facts }));
  return [statusOf(findings), ...kept.out.trimEnd().split("\n")];
}

const PARTS = [
  "  ok       kernel       Linux 6.1.0, network namespaces share devices",
  "  ok       libibverbs   /usr/lib/libibverbs.so.1",
  "  ok       limits       locked memory unlimited, open files 1024",
];

Deno.test("doctor prints the fault and its remedy first, and then each part", () => {
  assertEquals(printed({}), [
    "healthy",
    "healthy: nothing is wrong on this host, and no counter of errors rose here within 1 s; what a peer drops is counted there",
    "",
    ...PARTS.map((line) => line.replace("ok       ", "ok  ")),
    "  ok  rxe0 port 1  ACTIVE, RoCE, MTU 1024, eth0 (up, MTU 1500), GID 1: ::ffff:10.0.0.1",
  ]);
  assertEquals(printed(rising("send_rnr_err")), [
    "warning",
    "warning: rxe0 port 1: messages arrive for which this host has no receive posted (RNR) " +
    "(send_rnr_err +3 in 1 s). Remedy: programs of this host must post receives earlier, or more of them",
    "",
    ...PARTS,
    "  warning  rxe0 port 1  ACTIVE, RoCE, MTU 1024, eth0 (up, MTU 1500), GID 1: ::ffff:10.0.0.1",
  ]);
  const before = printed(withPort({ errors: { qkeyViolCntr: 1, send_rnr_err: 4 } }));
  assertEquals([before[0], before.at(-1)!.split("10.0.0.1, ")[1]], [
    "healthy",
    "errors so far: qkeyViolCntr 1, send_rnr_err 4",
  ]);
  const down = printed(withPort({ state: "DOWN", ...netdev({ isUp: false }), gid: null }));
  assertEquals([down[1], down.at(-1)], [
    "broken: rxe0 port 1: its network interface eth0 is down. Remedy: as root: ip link set eth0 up",
    "  broken  rxe0 port 1  DOWN, RoCE, MTU 1024, eth0 (down)",
  ]);
  assertEquals(printed({ devices: [] }).at(-1), "  broken  rxe0        not listed by libibverbs");
  const elsewhere = printed(withPort(netdev({ isHere: false }), INFINIBAND));
  assertEquals(elsewhere.at(-1)!.includes("ACTIVE, LID 18, MTU 1024, eth0 (elsewhere)"), true);
  assertEquals(printed(withFile("EACCES")).at(-1), "  broken  rxe0        not opened");
});

Deno.test("doctor cannot examine a host without all permissions", async () => {
  const granted = Deno.permissions.querySync;
  Object.assign(Deno.permissions, { querySync: () => ({ state: "prompt" }) });
  try {
    const err = "doctor: it reads /sys and /proc, which Deno opens only with deno run -A\n";
    assertEquals(await ran(["doctor"]), { status: 3, out: "", err });
  } finally {
    Object.assign(Deno.permissions, { querySync: granted });
  }
});
