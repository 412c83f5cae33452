// What commands print, byte by byte, on a device of the recorder. After a wanted change, run this file with
// IBVERBS_PRINT=1: it writes printed.txt anew, and the difference shows what users will see.

import { assertEquals } from "@std/assert";
import * as recorder from "../../provider/recorder.ts";
import { run } from "../../../cli/run.ts";
import { latencyOf } from "../../../cli/perf/histogram.ts";
import { bandwidthOf, type Result, resultLines } from "../../../cli/perf/report.ts";
import { svgOf } from "../../../cli/perf/svg.ts";
import {
  bth,
  completion,
  DATAGRAM,
  ethernet,
  hex,
  ipv4,
  ipv6,
  UDP,
} from "../../pure/cli/packets.ts";
import { recorder as keep } from "../../pure/cli/terminal.ts";

const FILE = new URL("printed.txt", import.meta.url);
const COMMANDS = ["devices", "devinfo", "gids", "explain", "watch", "pingpong", "perf"];
const GRH = "00".repeat(20) + ipv4();
const RDMA = bth(0x0a) + hex([0x1000n, 8], [7, 4], [64, 4]) + "00".repeat(68);

const LINES: readonly (readonly string[])[] = [
  [],
  ...COMMANDS.map((name) => [name, "--help"]),
  ...["rc", "srq", "ud"].map((kind) => ["pingpong", kind, "--help"]),
  ["devices"],
  ["devices", "--json"],
  ["devinfo"],
  ["devinfo", "-d", "recorder1", "-i", "2"],
  ["devinfo", "--json", "-d", "recorder0"],
  ["devinfo", "-l"],
  ["devinfo", "-l", "--json"],
  ["gids"],
  ["gids", "-d", "recorder0", "-i", "1", "--json"],
  ["explain", GRH],
  ["explain", "--json", "-d", "recorder0", GRH],
  ["explain", "-d", "recorder0", completion({}), GRH],
  ["explain", "--json", completion({ status: 5 })],
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
  ["gids", "-d", "nothing"],
  ["gids", "-i", "9"],
  ["gids", "extra"],
  ["explain", "zz"],
  ["explain", "00"],
  ["explain", "--as", "grh", "00"],
  ["explain", "--as", "packet", "00"],
  ["explain", GRH, GRH],
  ["watch", "-n", "0"],
  ["pingpong", "--kind", "nothing"],
  ["perf", "--size"],
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
  const text = `${kept.out}${kept.err === "" ? "" : `error output:\n${kept.err}`}`
    .replace(/[\dT-]*\d\d:\d\d:\d\d(\.\d+Z)?/g, "TIME");
  return `${text}status ${status}`;
}

const LATENCIES = Float64Array.from({ length: 400 }, (_, i) => 2 + (i % 40) / 7 + i * i / 9000);

function results(): Record<string, string> {
  return Object.fromEntries((["client", "server"] as const).map((role) => {
    const result: Result = {
      role,
      kind: "rc",
      size: 64,
      latency: latencyOf(LATENCIES),
      bandwidth: bandwidthOf({ sent: 5000, received: 4990, microseconds: 1234 }, 64),
    };
    const lines = resultLines(result).map((line) =>
      typeof line === "string"
        ? line
        : line.map((part) => typeof part === "string" ? part : `<${part.style}>${part.text}`).join(
          "",
        )
    );
    return [`result of a ${role}`, `${lines.join("\n")}\n${svgOf(result)}`];
  }));
}

/** The parts of the file by their titles. */
function parse(text: string): Record<string, string> {
  const parts = text.split(/^==== (.*)\n/m).slice(1);
  return Object.fromEntries(
    parts.flatMap((title, i) => i % 2 === 0 ? [[title, parts[i + 1]!.trimEnd()]] : []),
  );
}

Deno.test("commands print what printed.txt has", async (t) => {
  const found: Record<string, string> = {};
  for (const line of LINES) found[["ibverbs", ...line].join(" ")] = (await printed(line)).trimEnd();
  for (const [title, text] of Object.entries(results())) found[title] = text.trimEnd();
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
