// Every fault between two hosts, staged by a record of what two doctors would have gathered.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Channel } from "../../peer/channel.ts";
import { CommandError } from "../../shell/command.ts";
import { examinePair, introduce } from "../../doctor/pair.ts";
import type { Context } from "../../../mod.ts";
import { findingsOf } from "../../doctor/finding.ts";
import { pageOf } from "../../doctor/page.ts";
import { NO_WAY, NOT_TRIED, PAIR_CHECKS, pairFindings } from "../../doctor/pair_checks.ts";
import {
  type Family,
  matchGids,
  type PairFacts,
  type PairPort,
  type Probe,
} from "../../doctor/pair_facts.ts";
import { CHECKS } from "../../doctor.ts";
import { HEALTHY } from "./healthy_host.ts";
import { recorder } from "./terminal.ts";

const port = (...families: readonly Family[]): PairPort => ({
  device: "rxe0",
  port: 1,
  isRoce: true,
  mtu: 1024,
  pkey: 0xffff,
  gids: families.map((family, index) => ({ index, gid: `${family}-${index}`, family })),
});
const side = (changes: Partial<PairPort> = {}): PairFacts["here"] => ({
  findings: [],
  port: { ...port("IPv4"), ...changes },
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
const NONE = probes(0, NOT_TRIED, NOT_TRIED, NOT_TRIED);
const SMALL_ONLY = probes(8, 0, 8, NOT_TRIED);
const PAIR: PairFacts = {
  host: "b",
  here: side(),
  there: side(),
  gids: { here: "::1", there: "::2" },
  mtu: 1024,
  out: GOOD,
  in: GOOD,
};
const DOWN = { id: "link-down", subject: "rxe0 port 1", problem: "no link", remedy: "plug" };

const FAULTS: readonly (readonly [facts: Partial<PairFacts>, found: string])[] = [
  [
    { there: { findings: [{ ...DOWN, level: "broken" }], port: null }, out: [], in: [] },
    "broken peer-broken b rxe0 port 1: no link",
  ],
  [
    { there: side({ isRoce: false }), gids: null, out: [], in: [] },
    "broken link-layer b: it is InfiniBand, and this host is RoCE",
  ],
  [
    { there: side(port("IPv6", "link-local")), gids: null, out: [], in: [] },
    "broken gid-family b: its addresses are IPv6 and link-local, and those of this host are IPv4",
  ],
  [
    { there: side({ pkey: 0x8001 }) },
    "broken pkey-mismatch b: its P_Key is 0x8001, and that of this host is 0xffff",
  ],
  [
    { out: probes(`${NO_WAY}ENOENT`, NOT_TRIED, NOT_TRIED, NOT_TRIED), in: probes(NOT_TRIED) },
    "broken no-way b: this host does not find the way to b: ENOENT",
  ],
  [
    { out: NONE, in: NONE },
    "broken lost-both-ways b: no datagram arrives, neither from this host (::1) to b (::2) nor back",
  ],
  [
    { out: NONE },
    "broken lost-outgoing b: no datagram arrives from this host (::1) to b (::2); the other direction works",
  ],
  [
    { in: NONE },
    "broken lost-incoming b: no datagram arrives from b (::2) to this host (::1); the other direction works",
  ],
  [
    { out: SMALL_ONLY },
    "broken large-outgoing b: datagrams of 64 bytes arrive from this host (::1) to b (::2), those of 1024 do not",
  ],
  [
    { in: SMALL_ONLY },
    "broken large-incoming b: datagrams of 64 bytes arrive from b (::2) to this host (::1), those of 1024 do not",
  ],
  [
    { in: probes(8, 8, "RETRY_EXC_ERR", NOT_TRIED) },
    "broken connection-fails b: datagrams arrive, but a connection fails (RETRY_EXC_ERR) with messages of 64 bytes from b (::2) to this host (::1)",
  ],
  [
    { out: probes(8, 5, 8, 8) },
    "warning loss b: 3 of 8 datagrams of 1024 bytes are lost from this host (::1) to b (::2)",
  ],
  [
    { there: side({ mtu: 4096 }) },
    "warning mtu-mismatch b: its active MTU is 4096, and that of this host is 1024",
  ],
];

const found = (facts: Partial<PairFacts>): string[] =>
  pairFindings({ ...PAIR, ...facts }, [])
    .map(({ level, id, subject, problem }) => `${level} ${id} ${subject}: ${problem}`);

Deno.test("doctor finds each fault between two hosts, alone", () => {
  assertEquals(FAULTS.map(([facts]) => found(facts)), FAULTS.map(([, found]) => [found]));
  assertEquals(FAULTS.map(([, text]) => text.split(" ")[1]), Object.keys(PAIR_CHECKS));
  assertEquals([found({}), found({ here: side({ pkey: 0x7fff }) })], [[], []]);
  // The first of both sizes is enough.
  assertEquals(found({ out: probes(7, 5, 8, 8) }).length, 1);
});

Deno.test("doctor's remedies name what lies between two hosts", () => {
  const remedy = (facts: Partial<PairFacts>): string =>
    pairFindings({ ...PAIR, ...facts }, [])[0]!.remedy;
  assertStringIncludes(remedy({ out: NONE }), "UDP port 4791");
  assertStringIncludes(remedy({ in: NONE }), "the firewalls: of b for what leaves, of this host");
  assertStringIncludes(remedy({ out: SMALL_ONLY }), "packets of 1134 bytes");
  const ib = side({ isRoce: false });
  assertStringIncludes(remedy({ here: ib, there: ib, out: NONE }), "subnet manager");
});

Deno.test("matchGids() takes the best family that both hosts have", () => {
  const both = (here: PairPort, there: PairPort): unknown =>
    matchGids(here, there)?.map(({ gid }) => gid);
  assertEquals(both(port("link-local", "IPv6", "IPv4"), port("IPv6", "link-local")), [
    "IPv6-1",
    "IPv6-0",
  ]);
  assertEquals(both(port("IPv4"), port("IPv6")), undefined);
});

Deno.test("doctor tells of retries between two hosts only if something is lost", () => {
  const rises = { completer_retry_err: 3 };
  const [device] = HEALTHY.devices;
  const facts = {
    ...HEALTHY,
    devices: [{ ...device!, ports: device!.ports.map((port) => ({ ...port, rises })) }],
  };
  const ofHost = findingsOf(CHECKS, facts);
  assertEquals(ofHost.map(({ id }) => id), ["retries"]);
  const ids = (facts: Partial<PairFacts>): string[] =>
    pairFindings({ ...PAIR, ...facts }, ofHost).map(({ id }) => id);
  assertEquals([ids({}), ids({ out: NONE })], [[], ["lost-outgoing", "retries"]]);
});

Deno.test("doctor prints what arrives between two hosts", () => {
  const printed = (pair: PairFacts): string[] => {
    const kept = recorder();
    kept.terminal.print(pageOf(pairFindings(pair, []), HEALTHY, pair));
    return kept.out.trimEnd().split("\n");
  };
  const healthy = printed(PAIR);
  assertEquals(
    healthy[0],
    "healthy: messages reach b and come from there, and no counter of errors rose here within 1 s",
  );
  assertEquals(healthy.slice(-8, -6), [
    "  ok  to b         UD, 64 bytes, ::2: 8 of 8 arrived",
    "  ok  to b         UD, 1024 bytes, ::2: 8 of 8 arrived",
  ]);
  const faulty = printed({ ...PAIR, out: probes(8, 5, "RETRY_EXC_ERR", NOT_TRIED) });
  assertEquals(faulty.slice(-7, -4), [
    "  warning  to b         UD, 1024 bytes, ::2: 5 of 8 arrived",
    "  broken   to b         RC, 64 bytes, ::2: 0 of 8 arrived, RETRY_EXC_ERR",
    "  broken   to b         RC, 1024 bytes, ::2: not tried",
  ]);
});

/** What a peer says of itself, and what is wrong with it. */
const STRANGERS: readonly (readonly [said: Record<string, unknown>, error: string])[] = [
  [{ doctor: 2 }, "doctor"],
  [{ findings: undefined }, "no list of objects"],
  [{ findings: [1, {}] }, "no list of objects"],
  [{ findings: [{}, null] }, "no list of objects"],
  [{ findings: [{ ...DOWN, level: "broken", id: 5 }] }, '"5" for id'],
  [{ findings: [{ ...DOWN, problem: "no\x1b link" }] }, "for problem"],
  [{ port: { ...port("IPv4"), device: undefined } }, "for device"],
  [{ port: { ...port("IPv4"), port: 0 } }, "port"],
  [{ port: { ...port("IPv4"), mtu: 4097 } }, "mtu"],
  [{ port: { ...port("IPv4"), pkey: -1 } }, "pkey"],
  [{ port: { ...port("IPv4"), gids: {} } }, "no list of objects"],
  [
    { port: { ...port("IPv4"), gids: [{ index: 0, gid: "::1", family: "IPX" }] } },
    '"IPX" for family',
  ],
  [{ port: { ...port("IPv4"), gids: [{ index: 65536, gid: "::1", family: "IPv4" }] } }, "index"],
];

Deno.test("doctor believes a peer nothing that does not fit", async () => {
  const here = side();
  const introduced = (said: Record<string, unknown>): Promise<PairFacts["there"]> =>
    introduce({
      send: () => Promise.resolve(),
      receive: () => Promise.resolve({ doctor: 1, ...here, ...said }),
    } as unknown as Channel, here);
  assertEquals(await introduced({}), here);
  const findings = [{ ...DOWN, level: "odd" }];
  assertEquals(await introduced({ findings, port: null }), {
    findings: [{ ...DOWN, level: "warning" }],
    port: null,
  });
  for (const [said, error] of STRANGERS) {
    const { message } = await assertRejects(() => introduced(said), CommandError);
    assertStringIncludes(message, error);
  }
});

Deno.test("doctor sends nothing without a device, a port or a common family", async () => {
  const channel = {} as Channel;
  const context = {} as Context;
  const none = { host: "b", gids: null, mtu: 0, out: [], in: [] };
  const lacking: readonly (readonly [Context | undefined, PairFacts["here"], PairFacts["here"]])[] =
    [
      [undefined, side(), side()],
      [context, { findings: [], port: null }, side()],
      [context, side(), { findings: [], port: null }],
      [context, side(), { findings: [], port: port("IPv6") }],
    ];
  for (const [context, here, there] of lacking) {
    const sides = { host: "b", here, there, isFirst: true, pkeyIndex: 0 };
    assertEquals(await examinePair(channel, context, sides), { ...none, here, there });
  }
});

Deno.test("doctor's page shows a probe that fails although messages arrive as broken", () => {
  const failing = PAIR.out.map((probe) => ({ ...probe, status: "RETRY_EXC_ERR" }));
  const lines = pageOf([], { ...HEALTHY, namespaces: "exclusive" }, { ...PAIR, in: failing })
    .flat();
  const texts = lines.map((part) => typeof part === "string" ? part : `${part.text}/${part.style}`);
  assertEquals(texts.filter((text) => text === "broken/red").length, 4);
  assertEquals(texts.some((text) => text.includes("namespaces do not share devices")), true);
});
