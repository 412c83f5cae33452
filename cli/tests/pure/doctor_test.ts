// What doctors of two hosts believe and tell each other. printed.txt has what they find.

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Channel } from "../../peer/channel.ts";
import { CommandError } from "../../shell/command.ts";
import { examinePair, introduce } from "../../doctor/pair.ts";
import type { Context } from "../../../mod.ts";
import { type Finding, findingsOf } from "../../doctor/finding.ts";
import { pageOf, statusOf } from "../../doctor/page.ts";
import { pairFindings } from "../../doctor/pair_checks.ts";
import { matchGids, type PairFacts, type PairPort } from "../../doctor/pair_facts.ts";
import { CHECKS } from "../../doctor.ts";
import { DOWN, HEALTHY, PAIR, pairPort, PAIRS, side } from "./staged_hosts.ts";
import { ran } from "./terminal.ts";
import type { Line } from "../../shell/terminal.ts";

/** A line without its styles. */
function plain(line: Line): string {
  const parts = typeof line === "string" ? [line] : line;
  return parts.map((part) => typeof part === "string" ? part : part.text).join("");
}

Deno.test("matchGids() takes the best family that both hosts have", () => {
  const both = (here: PairPort, there: PairPort): unknown =>
    matchGids(here, there)?.map(({ gid }) => gid);
  assertEquals(both(pairPort("link-local", "IPv6", "IPv4"), pairPort("IPv6", "link-local")), [
    "IPv6-1",
    "IPv6-0",
  ]);
  assertEquals(both(pairPort("IPv4"), pairPort("IPv6")), undefined);
});

Deno.test("doctor reports retries between two hosts only if something is lost", () => {
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
  assertEquals([ids({}), ids(PAIRS["outgoing lost"]!)], [[], ["lost-outgoing", "retries"]]);
});

/** What a peer says of itself, and what is wrong with it. */
const STRANGERS: readonly (readonly [said: Record<string, unknown>, error: string])[] = [
  [{ findings: undefined }, "no list of objects"],
  [{ findings: [1, {}] }, "no list of objects"],
  [{ findings: [{}, null] }, "no list of objects"],
  [{ findings: [{ ...DOWN, level: "broken", id: 5 }] }, '"5" for id'],
  [{ findings: [{ ...DOWN, problem: "no\x1b link" }] }, "for problem"],
  [{ port: { ...pairPort("IPv4"), device: undefined } }, "for device"],
  [{ port: { ...pairPort("IPv4"), port: 0 } }, "port"],
  [{ port: { ...pairPort("IPv4"), mtu: 4097 } }, "mtu"],
  [{ port: { ...pairPort("IPv4"), pkey: -1 } }, "pkey"],
  [{ port: { ...pairPort("IPv4"), gids: {} } }, "no list of objects"],
  [
    { port: { ...pairPort("IPv4"), gids: [{ index: 0, gid: "::1", family: "IPX" }] } },
    '"IPX" for family',
  ],
  [
    { port: { ...pairPort("IPv4"), gids: [{ index: 65536, gid: "::1", family: "IPv4" }] } },
    "index",
  ],
];

Deno.test("doctor believes a peer nothing that does not fit", async () => {
  const here = side();
  const introduced = (said: Record<string, unknown>): Promise<PairFacts["there"]> =>
    introduce({
      send: () => Promise.resolve(),
      greeting: () => Promise.resolve({ doctor: 1, ...here, ...said }),
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
      [context, side(), { findings: [], port: pairPort("IPv6") }],
    ];
  for (const [context, here, there] of lacking) {
    const sides = { host: "b", here, there, isFirst: true, pkeyIndex: 0 };
    assertEquals(await examinePair(channel, context, sides), { ...none, here, there });
  }
});

Deno.test("doctor begins with what it could not examine, unless this host is broken", () => {
  const failure = 'Cannot connect to b; "doctor --listen" must run there';
  const begins = (findings: readonly Finding[]): unknown => {
    const [first] = pageOf(findings, HEALTHY, undefined, failure);
    return [statusOf(findings, failure), plain(first!)];
  };
  const healthy = `not examined: ${failure}. On this host nothing is wrong`;
  assertEquals(begins([]), ["not examined", healthy]);
  const warning = { ...DOWN, level: "warning" } as const;
  assertEquals(begins([warning]), ["not examined", `not examined: ${failure}`]);
  const broken = { ...DOWN, level: "broken" } as const;
  assertEquals(begins([broken]), [
    "broken",
    `broken: ${DOWN.subject}: ${DOWN.problem}. Remedy: ${DOWN.remedy}`,
  ]);
});

Deno.test("doctor cannot examine a host without all permissions", async () => {
  using _ = stub(Deno.permissions, "querySync", () => ({ state: "prompt" }) as never);
  const { status, out, err } = await ran(["doctor"]);
  assertEquals([status, out], [3, ""]);
  const reason = "doctor: it reads /sys and /proc, which Deno opens only to programs";
  assertMatch(err, new RegExp(`^${RegExp.escape(reason)}.*deno run -A jsr:.*deno install .* -A `));
});
