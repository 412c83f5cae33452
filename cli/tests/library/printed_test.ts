// What commands print, byte by byte, on a device of the recorder. After a wanted change, run this file with
// IBVERBS_PRINT=1: it writes printed.txt anew, and the difference shows what users will see.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../../tests/provider/recorder.ts";
import { Context, GidType, LinkLayer } from "../../../mod.ts";
import { CHECKS } from "../../doctor.ts";
import type { HostFacts } from "../../doctor/facts.ts";
import { type Finding, findingsOf } from "../../doctor/finding.ts";
import { pageOf } from "../../doctor/page.ts";
import { pairFindings } from "../../doctor/pair_checks.ts";
import type { PairFacts } from "../../doctor/pair_facts.ts";
import { latencyOf } from "../../perf/histogram.ts";
import { bandwidthOf, type Result, resultLines, tableLines } from "../../perf/report.ts";
import { svgOf } from "../../perf/svg.ts";
import type { Line, Styled } from "../../shell/terminal.ts";
import { bth, completion, DATAGRAM, ethernet, hex, ipv4, ipv6, UDP } from "../pure/packets.ts";
import {
  FRAMES,
  INFINIBAND,
  IPOIB,
  MESSAGES,
  NEW_OPERATIONS,
  NOTIFICATIONS,
  pcap,
} from "../pure/captures.ts";
import { HEALTHY, HOSTS, PAIR, PAIRS } from "../pure/staged_hosts.ts";
import { type Files, withFiles } from "../pure/system.ts";
import { type Ran, ran } from "../pure/terminal.ts";
import { conversations } from "./both_ends.ts";
import { factsOf, FILES as SYSTEM, SYSTEMS } from "./staged_systems.ts";

const FILE = new URL("printed.txt", import.meta.url);
const GREEN = "\x1b[32m";
/** An acknowledgement of an access that is refused. */
const NAK = FRAMES.find((frame) => frame.slice(84, 86) === "11" && frame.slice(108, 110) === "62")!;
const GRH = "00".repeat(20) + ipv4();

const LINES: readonly (readonly string[])[] = [
  [],
  ["devices"],
  ["devices", "--json"],
  ["devinfo"],
  ["devinfo", "-d", "recorder1", "-i", "2"],
  ["devinfo", "-l"],
  ["gids"],
  ["explain", "--json", "-d", "recorder0", GRH],
  ["explain", "-d", "recorder0", completion({}), GRH],
  ["explain", "-d", "recorder0", completion({ wcFlags: 0, slid: 0x12 })],
  ["explain", ethernet(0x0800, 0xa064) + ipv4() + UDP + bth(0x64) + DATAGRAM],
  ["watch", "-c", "1"],
  ["watch", "-c", "1", "--json", "--all"],
  // What is wrong with a command line.
  ["devinfo", "-d", "nothing"],
  ["devinfo", "-i", "9"],
  ["gids", "-i", "9"],
];

/** A datagram behind the IP header, and a write of a connection. */
const DATAGRAM_OF_ROCE = UDP + bth(0x64) + DATAGRAM;
const WRITE = UDP + bth(0x0b) + hex([0x1_0000_0000n, 8], [0xabcd, 4], [4096, 4], [0x12345678, 4]);

/** What explain is given, by what it is. */
const OPERANDS: Readonly<Record<string, readonly string[]>> = {
  "IPv4 header": [GRH],
  "GRH": [ipv6(27)],
  "completion and GRH": [completion({}), GRH],
  "GRH and completion": [GRH, completion({})],
  "completion": [completion({ wcFlags: 0, slid: 0x12 })],
  "failed request": [completion({ status: 5 })],
  "send": [completion({ opcode: 0 })],
  "completion of a packet with a GRH": [completion({})],
  "neither IPv4 nor IPv6": ["00".repeat(40)],
  "group of IPv4": ["00".repeat(20) + ipv4(0xe000_0001)],
  "group of IPv6": [ipv6(27, 0xff02n << 112n)],
  "IPv4 packet": [ipv4() + DATAGRAM_OF_ROCE],
  "IPv6 packet": [ipv6(17) + DATAGRAM_OF_ROCE],
  "IPv4 frame": [ethernet(0x0800) + ipv4() + DATAGRAM_OF_ROCE],
  "IPv4 frame with padding": [ethernet(0x0800) + ipv4() + DATAGRAM_OF_ROCE + "00".repeat(9)],
  "IPv4 frame with a VLAN tag": [ethernet(0x0800, 0xa064) + ipv4() + DATAGRAM_OF_ROCE],
  "IPv6 frame": [ethernet(0x86dd) + ipv6(17) + DATAGRAM_OF_ROCE],
  "frame of RoCE v1": [ethernet(0x8915) + ipv6(27) + bth(0x64) + DATAGRAM],
  "packet of a connection": [ipv4() + WRITE + "00".repeat(4)],
};

/** Files of a system with two counters. */
const FILES: Files = {
  "/sys/class/infiniband/recorder0/ports/1/counters/port_xmit_data": "1000",
  "/sys/class/infiniband/recorder0/ports/1/hw_counters/sent_pkts": "0",
  "/sys/class/infiniband/recorder0/ports/1/hw_counters/lifespan": "10",
  "/sys/class/infiniband/recorder0/ports/1/gid_attrs/ndevs/0": "eth7",
  "/sys/class/infiniband/recorder0/board_id": "MT_1",
};

async function printed(args: readonly string[]): Promise<string> {
  recorder.reset();
  recorder.setDevices(2);
  using _ = withFiles(FILES);
  return textOf(await ran(args)).replace(/[\dT-]*\d\d:\d\d:\d\d(\.\d+Z)?/g, "TIME");
}

/** What a command printed, JSON in one line, and how it ended. */
function textOf({ status, out, err }: Ran): string {
  const ending = err.replace(/^(?=.)/gm, "! ") + (status === 0 ? "" : `status ${status}`);
  return (/^[[{]\n/.test(out) ? `${JSON.stringify(JSON.parse(out))}\n` : out) + ending;
}

Deno.test("gids names the version of a GID by its type and the link layer", async () => {
  const { INFINIBAND, ETHERNET } = LinkLayer;
  for (
    const [gidType, linkLayer, version] of [
      ...[[GidType.IB, INFINIBAND, "IB"], [GidType.IB, ETHERNET, "v1"]] as const,
      ...[[GidType.ROCE_V1, INFINIBAND, "v1"], [GidType.ROCE_V2, ETHERNET, "v2"]] as const,
    ]
  ) {
    recorder.reset();
    recorder.answer("ibv_query_port", { link_layer: linkLayer });
    recorder.answer("_ibv_query_gid_table", { gid_type: gidType });
    const { out } = await ran(["gids", "--json"]);
    const [{ gids: [gid, ...others], reason, ...table }] = JSON.parse(out);
    assertEquals(table, { device: "recorder0", port: 1, recommended: 1 });
    assertEquals([gid.version, gid.gid, gid.gidIndex], [version, "fe80::ff:fe00:1", 0]);
    assertEquals([others.length, typeof reason], [1, "string"]);
  }
});

Deno.test("gids names the network interface by its index where no file names it, if it has one", async () => {
  for (const [index, netdev] of [[7, "#7"], [0, ""]] as const) {
    recorder.reset();
    recorder.answer("_ibv_query_gid_table", { ndev_ifindex: index });
    const { out } = await ran(["gids", "--json"]);
    assertEquals(JSON.parse(out)[0].gids[0].netdev, netdev);
  }
});

Deno.test("devinfo shows no port that cannot be asked, and no other ports behind it", async () => {
  recorder.reset();
  recorder.fail("___ibv_query_port", "EIO", { times: 9 });
  const { status, out, err } = await ran(["devinfo", "-d", "recorder0"]);
  const shown = ["hca_id:", "\tport:"].map((text) => out.includes(text));
  assertEquals([status, shown, err.includes("TypeError")], [5, [true, false], false]);
});

Deno.test("gids shows the recommended GID in green, and says why none is", async () => {
  recorder.reset();
  const { out } = await ran(["gids"], { color: true });
  assertStringIncludes(out, `\n${GREEN}* `);
  using _none = stub(Context.prototype, "recommendGid", () => {
    throw new Deno.errors.NotFound("none is usable");
  });
  const without = await ran(["gids"], { color: true });
  assertStringIncludes(without.out, "none is usable\n");
  assertEquals([without.status, without.out.includes(GREEN)], [0, false]);
});

Deno.test("devinfo --json has names for codes, bytes for MTUs and text for numbers of 64 bits", async () => {
  recorder.reset();
  using _ = withFiles(FILES);
  const [device] = JSON.parse((await ran(["devinfo", "--json"])).out);
  const { guid, nodeType, transportType, boardId, attr, ports: [port] } = device;
  assertEquals([guid, nodeType, transportType], ["0200:0000:0000:0001", "CA", "IB"]);
  assertEquals([boardId, device.numCompVectors, attr.maxWqTypeRq], ["MT_1", 4, 32_768]);
  const { nodeGuid, sysImageGuid, atomicCap, maxMrSize } = attr.origAttr;
  assertEquals([nodeGuid, sysImageGuid], Array(2).fill("0000:0000:0000:0000"));
  assertEquals([atomicCap, maxMrSize], ["HCA", "18446744073709551615"]);
  const { state, maxMtu, activeMtu, linkLayer, lid, speed, gids: [, gid] } = port;
  assertEquals([port.port, state, maxMtu, activeMtu], [1, "ACTIVE", 4096, 4096]);
  assertEquals([linkLayer, lid, speed], ["ETHERNET", 1, "1000"]);
  const address = { gidIndex: 1, gid: "::ffff:10.0.0.1", gidType: "ROCE_V2", ndevIfindex: 2 };
  assertEquals(gid, address);
});

Deno.test("watch draws a screen on a terminal, and says how it ends", async () => {
  recorder.reset();
  const { out } = await ran(["watch", "-n", "7", "-c", "1"], { interactive: true });
  assertStringIncludes(out, "every 7 s, Ctrl-C ends\x1b");
});

const LATENCIES = Float64Array.from({ length: 40 }, (_, i) => 2 + i * i / 33);

function results(): Record<string, string> {
  return Object.fromEntries((["client", "server"] as const).map((role) => {
    const result = {
      ...{ role, kind: "rc", verb: "send", size: 64, queuePairs: role === "client" ? 1 : 4 },
      latency: latencyOf(LATENCIES),
      bandwidth: bandwidthOf({ sent: 5000, received: 4990, microseconds: 1234 }, 64),
    };
    const { latency: _, ...read }: Result = { ...result, verb: "read", size: 1 << 20 };
    const lines = [...resultLines(result), ...tableLines([result, read])];
    return [`result of a ${role}`, `${styled(lines)}\n${svgOf(result)}`];
  }));
}

/** Lines, with the styles of their parts. */
function styled(lines: readonly Line[]): string {
  const textOfPart = (part: string | Styled): string =>
    typeof part === "string" ? part : `<${part.style}>${part.text}`;
  return lines.map((line) => [line].flat().map(textOfPart).join("")).join("\n");
}

/** What doctor finds on staged hosts and between them, and some of its pages. */
function findings(): Record<string, string> {
  const ofHost = (facts: Partial<HostFacts>): Finding[] =>
    findingsOf(CHECKS, { ...HEALTHY, ...facts });
  const ofPair = (facts: Partial<PairFacts>): Finding[] => pairFindings({ ...PAIR, ...facts }, []);
  const listed = <T>(hosts: Readonly<Record<string, T>>, find: (facts: T) => Finding[]): string =>
    Object.entries(hosts).flatMap(([name, facts]) => {
      const found = find(facts).map(textOfFinding);
      return (found.length === 0 ? ["nothing"] : found).map((text) => `${name}: ${text}`);
    }).join("\n");
  const page = (name: string): string =>
    styled(pageOf(ofHost(HOSTS[name]!), { ...HEALTHY, ...HOSTS[name] }));
  const pairPage = (name: string): string => {
    const pair = { ...PAIR, ...PAIRS[name] };
    return styled(pageOf(pairFindings(pair, []), HEALTHY, pair));
  };
  const pages = ["healthy", "exclusive namespaces", "errors of before", "InfiniBand", "not listed"];
  return {
    "doctor: findings by hosts": listed(HOSTS, ofHost),
    "doctor: pages": [...pages, "EACCES", "netdev elsewhere", "one port of two"].map(page).join(
      "\n",
    ),
    "doctor: findings by pairs": listed(PAIRS, ofPair),
    "doctor: pages of pairs": ["healthy", "each kind of probe"].map(pairPage).join("\n"),
  };
}

/** What doctor gathers of staged systems, but for what the host of the test decides. */
async function gathered(): Promise<string> {
  const lines: string[] = [];
  const note = (
    name: string,
    { kernel: _kernel, library: _library, ...facts }: HostFacts,
  ): number => lines.push(`${name}: ${JSON.stringify(facts)}`);
  for (const [name, files] of Object.entries(SYSTEMS)) note(name, await factsOf(files));
  note("all devices", await factsOf(SYSTEM, undefined, null));
  return lines.join("\n");
}

function textOfFinding({ level, id, subject, problem, remedy }: Finding): string {
  return `${level} ${id} ${subject}: ${problem}. Remedy: ${remedy}`;
}

/** What explain makes of its operands. */
async function explained(): Promise<string> {
  const lines: string[] = [];
  for (const [name, operands] of Object.entries(OPERANDS)) {
    lines.push(`${name}: ${textOf(await ran(["explain", "--json", ...operands])).trimEnd()}`);
  }
  return lines.join("\n");
}

const OTHERS = [...MESSAGES, ...NEW_OPERATIONS, ...NOTIFICATIONS];
const BRIEFLY = [...OTHERS, FRAMES[0]!, FRAMES[0]!.slice(0, 100), NAK, FRAMES.at(-1)!];

/** What explain shows of captures. */
async function captures(): Promise<Record<string, string>> {
  const file = await Deno.makeTempFile({ suffix: ".pcap" });
  const shown = async (capture: Uint8Array, ...options: string[]): Promise<string> => {
    Deno.writeFileSync(file, capture);
    return textOf(await ran(["explain", file, ...options]));
  };
  const ethernet = await shown(pcap([...OTHERS, ...FRAMES]), "--json");
  const found = {
    "explain --json, the first frame with each list of fields": firstOfEach(ethernet),
    "explain --json of InfiniBand": await shown(
      pcap([...INFINIBAND, ...IPOIB], { linkType: 247 }),
      "--json",
    ),
    "explain --brief": await shown(pcap(BRIEFLY), "--brief"),
    "explain --brief --roce": await shown(pcap(BRIEFLY.slice(-4)), "--brief", "--roce"),
  };
  await Deno.remove(file);
  return found;
}

/** The lines of JSON that have other names than each line before. */
function firstOfEach(lines: string): string {
  const known = new Set<string>();
  return lines.split("\n")
    .filter((line) => known.size < known.add(String(line.match(/"\w+":/g))).size).join("\n");
}

/** Text by its title. */
type Parts = Readonly<Record<string, string>>;

/** Fewer lines than these are printed again. */
const LEAST = 3;

/** Names lines that stood before instead of repeating them. */
function abridged(parts: Parts): Record<string, string> {
  const before: (readonly [title: string, lines: readonly string[]])[] = [];
  return Object.fromEntries(
    Object.entries(parts).map(([title, text]) => {
      const lines = text.trimEnd().split("\n");
      const shown: string[] = [];
      for (let at = 0; at < lines.length;) {
        const known = [...before, [title, lines.slice(0, at)] as const];
        const [length, where] = longestRun(lines.slice(at), known);
        shown.push(length < LEAST ? lines[at]! : `[${length} lines as in ${where}]`);
        at += length < LEAST ? 1 : length;
      }
      before.push([title, lines]);
      return [title, shown.join("\n")];
    }),
  );
}

/** How many lines stood before in this order, and where. */
function longestRun(
  lines: readonly string[],
  known: readonly (readonly [string, readonly string[]])[],
): [length: number, where: string] {
  let best: [number, string] = [0, ""];
  for (const [title, others] of known) {
    for (const from of others.keys()) {
      let length = 0;
      while (length < lines.length && lines[length] === others[from + length]) length++;
      if (length > best[0]) best = [length, `${title.slice(0, 40)}, line ${from + 1}`];
    }
  }
  return best;
}

/** The parts of the file. */
function parse(text: string): Parts {
  const parts = text.split(/^==== (.*)\n/m).slice(1);
  return Object.fromEntries(
    parts.flatMap((title, i) => i % 2 === 0 ? [[title, parts[i + 1]!.trimEnd()]] : []),
  );
}

Deno.test("commands print what printed.txt has", async (t) => {
  const whole: Record<string, string> = {};
  for (const line of LINES) whole[["ibverbs", ...line].join(" ")] = await printed(line);
  const found = abridged({
    ...whole,
    ...results(),
    ...findings(),
    "doctor: facts by systems": await gathered(),
    "explain --json by operands": await explained(),
    ...await captures(),
    ...await conversations(),
  });
  if (Deno.env.get("IBVERBS_PRINT") === "1") {
    const parts = Object.entries(found).map(([title, text]) => `==== ${title}\n${text}\n`);
    Deno.writeTextFileSync(FILE, parts.join("\n"));
  }
  const wanted = parse(Deno.readTextFileSync(FILE));
  assertEquals(Object.keys(found), Object.keys(wanted));
  for (const [title, text] of Object.entries(wanted)) {
    await t.step(title, () => assertEquals(found[title], text));
  }
});
