/** Faults between two hosts. */

import { brokenFirst, type Fault, type Finding } from "./finding.ts";
import { FAMILIES, type PairFacts, type PairPort, type Probe } from "./pair_facts.ts";

/** One direction, in words. */
interface Way {
  readonly name: "outgoing" | "incoming";
  readonly probes: readonly Probe[];
  readonly from: string;
  readonly to: string;
  /** `from ... to ...`, with GIDs. */
  readonly text: string;
}

const MEMBER = 0x7fff;
const FULL_MEMBER = 0x8000;
/** Bytes of Ethernet, IPv6, UDP and InfiniBand headers around a message. */
const HEADERS = 110;
/** The status of a probe whose queue pair could not be connected to the peer. */
export const NO_WAY = "no way: ";

/** The checks of a pair, causes first. Each finds nothing where an earlier one explains what it sees. */
export const PAIR_CHECKS: Readonly<Record<string, (facts: PairFacts) => readonly Fault[]>> = {
  "peer-broken": ({ host, there }) =>
    there.findings.filter(({ level }) => level === "broken").map((finding) => ({
      ...finding,
      subject: `${host} ${finding.subject}`,
    })),
  "link-layer": ({ host, here, there }) =>
    here.port === null || there.port === null || here.port.isRoce === there.port.isRoce ? [] : [{
      subject: host,
      problem: `it is ${technology(there.port)}, and this host is ${technology(here.port)}`,
      remedy: "choose devices of one network: -d DEVICE -i PORT on both hosts",
    }],
  "gid-family": (facts) => {
    const { host, here, there, gids } = facts;
    if (here.port === null || there.port === null || gids !== null || isMixed(facts)) return [];
    return [{
      subject: host,
      problem: `its addresses are ${familiesOf(there.port)}, and those of this host are ${
        familiesOf(here.port)
      }`,
      remedy: "give both network interfaces addresses of one IP network",
    }];
  },
  "pkey-mismatch": ({ host, here, there }) => {
    const [ours, theirs] = [here.port?.pkey, there.port?.pkey];
    if (ours === undefined || theirs === undefined) return [];
    const isShared = (ours & MEMBER) === (theirs & MEMBER) &&
      ((ours | theirs) & FULL_MEMBER) !== 0;
    return isShared ? [] : [{
      subject: host,
      problem: `its P_Key is ${hexOf(theirs)}, and that of this host is ${hexOf(ours)}`,
      remedy: "both ends need the same P_Key, and one of them must be a full member",
    }];
  },
  "no-way": (facts) =>
    waysOf(facts).flatMap(({ probes, from, to }) =>
      probes.filter(({ status }) => status.startsWith(NO_WAY)).slice(0, 1).map(({ status }) => ({
        subject: facts.host,
        problem: `${from} does not find the way to ${to}: ${status.slice(NO_WAY.length)}`,
        remedy: `on ${from}, look at "ip route get" and "ip neigh" for the address of ${to}`,
      }))
    ),
  "lost-both-ways": (facts) => {
    const [out, back] = waysOf(facts);
    return isLost(out!, 0) && isLost(back!, 0)
      ? [{
        subject: facts.host,
        problem: `no datagram arrives, neither ${out!.text} nor back`,
        remedy: openPort(facts, "the firewalls of both hosts and between them"),
      }]
      : [];
  },
  "lost-outgoing": (facts) => lostOneWay(facts, 0),
  "lost-incoming": (facts) => lostOneWay(facts, 1),
  "large-outgoing": (facts) => largeLost(facts, 0),
  "large-incoming": (facts) => largeLost(facts, 1),
  "connection-fails": (facts) =>
    waysOf(facts).flatMap(({ probes, text }) =>
      probes.filter(({ service, received, status }) =>
        service === "RC" && status !== NOT_TRIED && !status.startsWith(NO_WAY) &&
        (status !== "SUCCESS" || received === 0)
      ).slice(0, 1).map(({ size, status }) => ({
        subject: facts.host,
        problem: `datagrams arrive, but a connection fails (${status}) with messages of ${size} ` +
          `bytes ${text}`,
        remedy: 'record the packets of both ends with tcpdump, and look at them with "explain"',
      }))
    ),
  "loss": (facts) =>
    waysOf(facts).flatMap(({ probes, text }) =>
      probes.filter(({ service, sent, received }) =>
        service === "UD" && received > 0 && received < sent
      ).slice(0, 1).map(({ size, sent, received }) => ({
        level: "warning" as const,
        subject: facts.host,
        problem: `${sent - received} of ${sent} datagrams of ${size} bytes are lost ${text}`,
        remedy: "look at the counters of drops of the switch and of both network interfaces " +
          "(ip -s link), at pause frames and at ECN",
      }))
    ),
  "mtu-mismatch": ({ host, here, there }) =>
    here.port === null || there.port === null || here.port.mtu === there.port.mtu ? [] : [{
      level: "warning",
      subject: host,
      problem: `its active MTU is ${there.port.mtu}, and that of this host is ${here.port.mtu}`,
      remedy: "programs must use the smaller one; or set the same MTU on both network interfaces",
    }],
};

/** The status of probes that were not sent, because smaller or simpler ones were lost. */
export const NOT_TRIED = "not tried";

/** Findings of counters that mean only late messages, if all have arrived. */
const LATE = ["retries", "out-of-order"];

/** The findings about two hosts and about this one, errors first. */
export function pairFindings(facts: PairFacts, ofHost: readonly Finding[]): Finding[] {
  const probes = [...facts.out, ...facts.in];
  const isComplete = probes.length > 0 && probes.every(({ sent, received }) => received === sent);
  const others = ofHost.filter(({ id }) => !isComplete || !LATE.includes(id));
  const found = Object.entries(PAIR_CHECKS).flatMap(([id, check]) =>
    check(facts).map((fault): Finding => ({ level: "broken", ...fault, id }))
  );
  return brokenFirst([...found, ...others]);
}

function waysOf({ host, gids, out, in: back }: PairFacts): readonly [Way, Way] {
  const [ours, theirs] = [`this host (${gids?.here})`, `${host} (${gids?.there})`];
  return [
    {
      name: "outgoing",
      probes: out,
      from: "this host",
      to: host,
      text: `from ${ours} to ${theirs}`,
    },
    {
      name: "incoming",
      probes: back,
      from: host,
      to: "this host",
      text: `from ${theirs} to ${ours}`,
    },
  ];
}

/** Whether datagrams of a size, the small or the large one, were sent and none came. */
function isLost({ probes }: Way, index: 0 | 1): boolean {
  const probe = probes.filter(({ service }) => service === "UD")[index];
  return probe !== undefined && probe.sent > 0 && probe.received === 0;
}

function lostOneWay(facts: PairFacts, index: 0 | 1): Fault[] {
  const ways = waysOf(facts);
  const [way, other] = [ways[index], ways[1 - index]!];
  if (!isLost(way, 0) || isLost(other, 0)) return [];
  return [{
    subject: facts.host,
    problem: `no datagram arrives ${way.text}; the other direction works`,
    remedy: openPort(
      facts,
      `the firewalls: of ${way.from} for what leaves, of ${way.to} for what comes, and between them`,
    ),
  }];
}

function largeLost(facts: PairFacts, index: 0 | 1): Fault[] {
  const way = waysOf(facts)[index];
  if (!isLost(way, 1)) return [];
  const [small, large] = way.probes.filter(({ service }) => service === "UD");
  return [{
    subject: facts.host,
    problem: `datagrams of ${small!.size} bytes arrive ${way.text}, those of ${large!.size} do not`,
    remedy: `every network interface and switch on the way must carry packets of ${
      large!.size + HEADERS
    } bytes (ip link, MTU); or set a smaller path MTU`,
  }];
}

function openPort({ here }: PairFacts, where: string): string {
  return here.port!.isRoce
    ? `open UDP port 4791 in ${where} ("nft list ruleset" shows the rules of a host)`
    : "look at the subnet manager's routes, and at the P_Keys of the switch ports";
}

function isMixed({ here, there }: PairFacts): boolean {
  return here.port?.isRoce !== there.port?.isRoce;
}

function technology({ isRoce }: PairPort): string {
  return isRoce ? "RoCE" : "InfiniBand";
}

function familiesOf({ gids }: PairPort): string {
  const families = FAMILIES.filter((family) => gids.some((gid) => gid.family === family));
  return families.join(" and ") || "none";
}

function hexOf(pkey: number): string {
  return `0x${pkey.toString(16).padStart(4, "0")}`;
}
