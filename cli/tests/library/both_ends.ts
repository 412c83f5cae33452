// Both ends of pingpong and perf in one process: the recorder moves what they send.

import { assertEquals } from "@std/assert";
import * as recorder from "../../../tests/provider/recorder.ts";
import type { Argument, Call } from "../../../tests/provider/records.ts";
import { LinkLayer } from "../../../mod.ts";
import { ran } from "../pure/terminal.ts";
import { freePort } from "../pure/tcp.ts";

/** What both ends are given, and what the server and the client are given besides. */
type Line = readonly [both: string, server?: string, client?: string];

const SHORT = "-n 10 --messages 700";

// They sleep while they wait (-e): an end that polls without a pause lets no other end run.
const LINES: readonly Line[] = [
  ["pingpong rc -e -g 1 -n 7 -r 3 -s 5000 -m 512 -l 3 --warm-up 0", "-c", "-c"],
  ["pingpong rc -e -n 3 -s 5000 --warm-up 0", "-c"],
  ["pingpong rc --warm-up 0", "-e", "--timeout 1"],
  ["pingpong uc -e -g 1 -n 5 -s 32 --warm-up 1002 --json"],
  ["pingpong ud -e -g 1 -n 7 -r 3 -s 33 --warm-up 0", "--reply-from-wc -c", "-c"],
  ["pingpong ud -g 1 -s 4097"],
  // RoCE chooses a GID.
  ["pingpong ud -e -n 3 -s 33 --warm-up 0"],
  ["pingpong srq -e -g 1 -q 2 -n 20 -s 2047 -r 7 -m 2048 --warm-up 0"],
  ["pingpong rc -e --warm-up 0", "", "-g 1"],
  ["perf --json", "", SHORT],
  ["perf", "", `--kind uc -s 100 -m 256 ${SHORT}`],
  // Fewer than the receives that are posted: how many of more are lost depends on the time.
  ["perf -g 1", "", "--kind ud -s 40 -n 10 --messages 400"],
  ["perf", "-g 255", SHORT],
  ["perf --json", "", `--verb write -s 300 ${SHORT}`],
  ["perf", "", `--verb write -c uc -q 2 ${SHORT}`],
  ["perf", "", `--verb read -q 3 -s 5000 ${SHORT}`],
  ["perf -g 1", "", `-c ud -q 2 -a ${SHORT}`],
  ["perf", "", `--verb read -a -n 10 --messages 10`],
  ["perf", "--svg /dev/null", `--verb read ${SHORT}`],
  ["perf", "", `--svg /dev/null ${SHORT}`],
];

/** What an end prints, without what differs from time to time. */
async function printed(line: string): Promise<string> {
  const { status, out, err } = await ran(line.trim().split(/ +/));
  const shown = out.startsWith("{") ? `${out.trim().replace(/\s+/g, " ")}\n` : out;
  return `${shown}${err}status ${status}\n`
    .replace(/PSN 0x[\da-f]{6}|"psn": \d+/g, "PSN")
    .replace(/^ *(min|[\d.]+) +(-|[\d.]+|p50) .*\n/gm, "")
    .replace(/^ *bytes .*/gm, (line) => line.replace(/ +/g, " "))
    .replace(/"bars": \[[^\]]*\]/g, "bars")
    .replace(/(in |= )?[\d.]+ (?=Mbit|usec|seconds|messages\/s)/g, "$1TIME ")
    .replace(/"(min|max|mean|p[\d.]+|\w*[pP]erSecond|microseconds)": [\d.e-]+/g, '"$1": TIME');
}

/** What the ends do with their queue pairs that is not in a set, and adds it there. */
function summaryOf(calls: readonly Call[], known: Set<string>): string {
  const texts = calls.map(({ verb, args }) => {
    const structs = Object.entries(args).filter(([name]) => !/\[[1-9]/.test(name));
    const from = verb === "ibv_post_send" ? [args.qp] : [];
    return [verb, ...from, ...structs.map(([, arg]) => fieldsOf(arg))].filter(Boolean).join(" ");
  });
  const others = new Set(texts).difference(known);
  for (const text of others) known.add(text);
  return [...others].map((text) => `${text}\n`).join("");
}

/** What differs from object to object, or is the same in all. */
const UNSHOWN = /psn$|addr$|lkey$|next$|cq$|_sge$|sg_list$|num$|^wr\.|qpn$|dgid/;

/** The numbers of a struct that are not zero. */
function fieldsOf(arg: Argument): string {
  const fields = Object.entries(typeof arg === "object" ? arg?.fields ?? {} : {});
  return fields.filter(([name, value]) => Number(value) > 0 && !UNSHOWN.test(name))
    .map(([name, value]) => `${name}=${value}`).join(" ");
}

async function conversation(line: Line, known: Set<string>): Promise<string> {
  const [both, server = "", client = ""] = line;
  const linkLayer = /-g 1|pingpong ud/.test(both) ? LinkLayer.ETHERNET : LinkLayer.INFINIBAND;
  recorder.answer("ibv_query_port", { link_layer: linkLayer });
  const words = `${both} -p ${freePort()}`;
  const ends = [`${words} ${server}`, `${words} ${client} 127.0.0.1`].map(printed);
  const texts = await Promise.all(ends);
  const calls = recorder.takeOf(
    ...["ibv_create_qp", "ibv_modify_qp", "ibv_create_ah", "ibv_post_send", "ibv_post_recv"],
  );
  // Each size has requests of its own.
  return `${texts.join("")}${client.includes("-a") ? "" : summaryOf(calls, known)}`;
}

/** What the ends of each conversation print and do. */
export async function conversations(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const known = new Set<string>();
  for (const line of LINES) {
    recorder.reset();
    recorder.connect();
    found[line.join(" | ")] = await conversation(line, known);
    assertEquals([recorder.violations(), recorder.live()], [[], 0]);
  }
  return found;
}
