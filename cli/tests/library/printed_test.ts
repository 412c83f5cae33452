// What commands print, byte by byte, on a device of the recorder. After a wanted change, run this file with
// IBVERBS_PRINT=1: it writes printed.txt anew, and the difference shows what users will see.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import * as recorder from "../../../tests/provider/recorder.ts";
import { Context, GidType, LinkLayer } from "../../../mod.ts";
import { run } from "../../run.ts";
import { latencyOf } from "../../perf/histogram.ts";
import { bandwidthOf, type Result, resultLines, tableLines } from "../../perf/report.ts";
import { svgOf } from "../../perf/svg.ts";
import { bth, completion, DATAGRAM, ethernet, hex, ipv4, ipv6, UDP } from "../pure/packets.ts";
import { FRAMES, pcap } from "../pure/captures.ts";
import { recorder as keep } from "../pure/terminal.ts";
import { conversations } from "./both_ends.ts";

const FILE = new URL("printed.txt", import.meta.url);
const GREEN = "\x1b[32m";
const GRH = "00".repeat(20) + ipv4();
const RDMA = bth(0x0a) + hex([0x1000n, 8], [7, 4], [64, 4]) + "00".repeat(68);

const LINES: readonly (readonly string[])[] = [
  [],
  ["help", "nothing"],
  ["devices"],
  ["devices", "--json"],
  ["devinfo"],
  ["devinfo", "-d", "recorder1", "-i", "2"],
  ["devinfo", "--json", "-d", "recorder0"],
  ["devinfo", "-l"],
  ["devinfo", "-v", "-d", "recorder0"],
  ["gids"],
  ["gids", "-d", "recorder0", "-i", "1", "--json"],
  ["explain", GRH],
  ["explain", "--json", "-d", "recorder0", GRH],
  ["explain", "-d", "recorder0", completion({}), GRH],
  ["explain", "--json", completion({ status: 5 })],
  ["explain", "-d", "recorder0", "-i", "1", completion({}), "00".repeat(40)],
  ["explain", "--json", ipv6(27)],
  ["explain", "-d", "recorder0", completion({ wcFlags: 0, slid: 0x12 })],
  ["explain", ethernet(0x0800, 0xa064) + ipv4() + UDP + bth(0x64) + DATAGRAM],
  ["explain", ipv6(27) + bth(0x65) + hex([0x1111_1111, 4], [0, 1], [0x22, 3], [1, 4], [0, 12])],
  ["explain", "--json", ipv4() + UDP + RDMA],
  ["watch", "-c", "1"],
  ["watch", "-c", "1", "--json", "--all"],
  // What is wrong with a command line.
  ["nothing"],
  ["--nothing"],
  ["devinfo", "-d", "nothing"],
  ["devinfo", "-i", "9"],
  ["gids", "-i", "9"],
  ["gids", "extra"],
  ["rping", "-C", "1"],
  ["rping", "-S", "31"],
  ["rping", "one", "two"],
  ["udaddy", "-C", "1001"],
  ["udaddy", "-S", "4097"],
];

/** Files of a system with two counters. */
const FILES: Readonly<Record<string, string>> = {
  "/sys/class/infiniband/recorder0/ports/1/counters/port_xmit_data": "1000\n",
  "/sys/class/infiniband/recorder0/ports/1/hw_counters/sent_pkts": "0\n",
  "/sys/class/infiniband/recorder0/ports/1/hw_counters/lifespan": "10\n",
  "/sys/class/infiniband/recorder0/ports/1/gid_attrs/ndevs/0": "eth7\n",
  "/sys/class/infiniband/recorder0/board_id": "MT_1\n",
};

/** Replaces the files of /sys until it is disposed. */
function withFiles(): Disposable {
  const { readTextFileSync, readDirSync } = Deno;
  Object.assign(Deno, {
    readTextFileSync: (path: string | URL) => {
      if (!String(path).startsWith("/sys/")) return readTextFileSync(path);
      const text = FILES[String(path)];
      if (text === undefined) throw new Deno.errors.NotFound();
      return text;
    },
    readDirSync: (path: string | URL) => {
      if (!String(path).startsWith("/sys/")) return readDirSync(path);
      const names = Object.keys(FILES).filter((file) => file.startsWith(`${path}/`))
        .map((file) => file.slice(String(path).length + 1).split("/")[0]!);
      if (names.length === 0) throw new Deno.errors.NotFound();
      return [...new Set(names)].map((name) => ({ name }));
    },
  });
  return { [Symbol.dispose]: () => Object.assign(Deno, { readTextFileSync, readDirSync }) };
}

async function printed(args: readonly string[]): Promise<string> {
  recorder.reset();
  recorder.setDevices(2);
  using _files = withFiles();
  const kept = keep();
  const status = await run(args, kept.terminal);
  const out = args.includes("devinfo") && args.includes("--json") ? brief(kept.out) : kept.out;
  const ending = kept.err.replace(/^(?=.)/gm, "! ") + (status === 0 ? "" : `status ${status}`);
  return `${out}${ending}`.replace(/[\dT-]*\d\d:\d\d:\d\d(\.\d+Z)?/g, "TIME");
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
    const kept = keep();
    assertEquals(await run(["gids", "--json"], kept.terminal), 0);
    assertEquals(JSON.parse(kept.out)[0].gids[0].version, version);
  }
});

Deno.test("gids names the network interface by its index where no file names it, if it has one", async () => {
  for (const [index, netdev] of [[7, "#7"], [0, ""]] as const) {
    recorder.reset();
    recorder.answer("_ibv_query_gid_table", { ndev_ifindex: index });
    const kept = keep();
    assertEquals(await run(["gids", "--json"], kept.terminal), 0);
    assertEquals(JSON.parse(kept.out)[0].gids[0].netdev, netdev);
  }
});

Deno.test("devinfo shows no port that cannot be asked, and no other ports behind it", async () => {
  recorder.reset();
  recorder.fail("___ibv_query_port", "EIO", { times: 9 });
  using _files = withFiles();
  const kept = keep();
  assertEquals(await run(["devinfo", "-d", "recorder0"], kept.terminal), 5);
  assertEquals([kept.out.includes("hca_id:"), kept.out.includes("\tport:")], [true, false]);
  assertEquals(kept.err.includes("TypeError"), false);
});

Deno.test("gids shows the recommended GID in green, and says why none is", async () => {
  recorder.reset();
  const kept = keep({ color: true });
  assertEquals(await run(["gids"], kept.terminal), 0);
  assertStringIncludes(kept.out, `\n${GREEN}* `);
  using _none = stub(Context.prototype, "recommendGid", () => {
    throw new Deno.errors.NotFound("none is usable");
  });
  const without = keep({ color: true });
  assertEquals(await run(["gids"], without.terminal), 0);
  assertStringIncludes(without.out, "none is usable\n");
  assertEquals(without.out.includes(GREEN), false);
});

Deno.test("watch draws a screen on a terminal, and says how it ends", async () => {
  recorder.reset();
  const kept = keep({ interactive: true });
  assertEquals(await run(["watch", "-n", "7", "-c", "1"], kept.terminal), 0);
  assertStringIncludes(kept.out, "every 7 s, Ctrl-C ends\x1b");
});

/** JSON of a device, without the attributes that are as the API says. */
function brief(json: string): string {
  if (json === "") return "";
  const devices = JSON.parse(json);
  assertEquals(json, `${JSON.stringify(devices, null, 2)}\n`);
  using context = Context.open("recorder0");
  const [device] = devices;
  device.attr = different(device.attr, context.queryDeviceEx());
  const { port, gids, speed, ...attr } = device.ports[0];
  device.ports[0] = { port, ...different(attr, context.queryPort(1)) as object, speed, gids };
  return JSON.stringify(devices, null, 2);
}

/** What JSON has otherwise than the API, whose numbers of 64 bits are text there. */
function different(json: unknown, api: unknown): unknown {
  if (typeof json !== "object" || json === null) {
    return json === (typeof api === "bigint" ? `${api}` : api) ? undefined : json;
  }
  assertEquals(Object.keys(json), Object.keys(api as object));
  const parts = Object.entries(json).map(([name, value]) =>
    [name, different(value, (api as Record<string, unknown>)[name])] as const
  ).filter(([, part]) => part !== undefined);
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

const LATENCIES = Float64Array.from({ length: 400 }, (_, i) => 2 + (i % 40) / 7 + i * i / 9000);

function results(): Record<string, string> {
  return Object.fromEntries((["client", "server"] as const).map((role) => {
    const result = {
      ...{ role, kind: "rc", verb: "send", size: 64, queuePairs: role === "client" ? 1 : 4 },
      latency: latencyOf(LATENCIES),
      bandwidth: bandwidthOf({ sent: 5000, received: 4990, microseconds: 1234 }, 64),
    };
    const { latency: _, ...read }: Result = { ...result, verb: "read", size: 1 << 20 };
    const lines = [...resultLines(result), ...tableLines([result, read])].map((line) =>
      typeof line === "string"
        ? line
        : line.map((part) => typeof part === "string" ? part : `<${part.style}>${part.text}`).join(
          "",
        )
    );
    return [`result of a ${role}`, `${lines.join("\n")}\n${svgOf(result)}`];
  }));
}

/** What explain shows of a packet of each kind. */
async function captures(): Promise<Record<string, string>> {
  const file = await Deno.makeTempFile({ suffix: ".pcap" });
  const shown = async (frames: readonly string[], ...options: string[]): Promise<string> => {
    Deno.writeFileSync(file, pcap(frames));
    const kept = keep();
    await run(["explain", file, ...options], kept.terminal);
    return kept.out;
  };
  const found = { "explain --json of all kinds": await shown(FRAMES, "--json") };
  await Deno.remove(file);
  return found;
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
