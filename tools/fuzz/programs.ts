/** Hostile peers of the command-line tool's ping-pongs and of perf, on the recording provider. */

import { encodeAddress } from "../../cli/peer/address.ts";
import { run as runCli } from "../../cli/run.ts";
import { recorder as printed } from "../../cli/tests/pure/terminal.ts";
import { endpoint, jsonLine, wrong } from "./inputs.ts";
import { call, freePort, type Peer, peerLike, serve } from "./peers.ts";
import { recorded } from "./provider.ts";
import { LIMIT_MS, MANY } from "./servers.ts";
import { fc, isHarmless, same, type Target, target, within } from "./target.ts";

type Program = (port: number, ...host: string[]) => Promise<void>;
type Attack = readonly [calls: boolean, peer: Peer, program: Program];

const encoder = new TextEncoder();
const frame = endpoint.map(encodeAddress);
const ends = fc.constantFrom("done\0", "done", "DONE\0", "", "done\0done\0");
const conversation = fc.tuple(fc.array(frame, { minLength: 1, maxLength: 2 }), ends)
  .map(([all, end]) => new Uint8Array([...all.flatMap((one) => [...one]), ...encoder.encode(end)]));

/** Runs a command to its end. It says why it fails, in characters that a terminal shows. */
async function command(...args: string[]): Promise<void> {
  const terminal = printed();
  const status = await within(LIMIT_MS, args.join(" "), runCli(args, terminal.terminal));
  same([0, 1].includes(status), true, `status ${status}`);
  same(isHarmless(terminal.out + terminal.err), true, "what is printed is harmless");
  if (status === 1) same(/^\w+: \S/.test(terminal.err), true, "a message");
}

const pingPongs = (["rc", "uc", "ud", "srq"] as const).map((kind): Program => (port, ...host) => {
  const sizes = kind === "srq" ? ["-q", "2", "-r", "4"] : ["-r", "4"];
  const args = ["-e", "--timeout=1", "--warm-up=0", "-g", "1", "-n", "4", "-s", "64", ...sizes];
  return command("pingpong", kind, "-d", "recorder0", "-p", `${port}`, ...args, ...host);
});
const perf: Program = (port, ...host) =>
  command("perf", "-d", "recorder0", "-p", `${port}`, "--timeout=1", ...host);

const addressText = frame.map((bytes) => new TextDecoder().decode(bytes));
const hello = fc.record({
  perf: fc.constantFrom(2, 2, 2, 2, 2, 1, "2"),
  verb: fc.constantFrom("send", "send", "write", "read", "sing"),
  kind: fc.constantFrom("rc", "uc", "ud", "rc", "uc", "ud", "srq", "\x1b[2J"),
  size: fc.constantFrom(1, 64, 4096, 64, 2 ** 25, -1),
  iters: fc.constantFrom(10, 11, 12, 13, 2 ** 53, "\u009b"),
  messages: fc.constantFrom(10, 64),
  duration: fc.constantFrom(0, 0, 0, 0, 1, -1, "\u009b"),
  qp: fc.constantFrom(1, 1, 2, 3, 257),
  left: fc.constantFrom(0, 0, 0, 1, 65),
  addr: fc.constantFrom("0x1000", "0x1000", "\u009b", "0xffffffffffffffffff"),
  rkey: fc.constantFrom(1, 1, -1),
  reads: fc.constantFrom(1, 16, 256),
  mtu: fc.constantFrom(1024, 256, 1500, "x"),
  addresses: fc.array(fc.oneof(addressText, wrong), { maxLength: 3 }),
});
const lines = fc.oneof(
  hello,
  fc.constantFrom({ error: "\x1b[2J\u202e" }, { error: {} }, { address: "\u009b" }, [], 5, null),
  addressText.map((address) => ({ addresses: [address], addr: "0x1000", rkey: 1, reads: 1 })),
).map(jsonLine);

/** Attacks a program as its client or as its server. */
async function attack([calls, peer, program]: Attack): Promise<void> {
  if (!calls) return await serve(peer, (port) => program(port, "127.0.0.1"));
  const port = freePort();
  let ended = false;
  const served = program(port).finally(() => ended = true);
  await Promise.all([served, call(peer, port, () => ended)]);
  // The port is free for the next run at once.
  using _listener = Deno.listen({ port });
}

function attacked(
  name: string,
  what: string,
  programs: readonly Program[],
  good: fc.Arbitrary<Uint8Array<ArrayBuffer>>,
): Target {
  const one = fc.tuple(fc.boolean(), peerLike(good), fc.constantFrom(...programs));
  return target(
    name,
    what,
    fc.array(one, MANY),
    (all: readonly Attack[]) => recorded(all, (all) => Promise.all(all.map(attack))),
  );
}

export const PROGRAMS = [
  attacked("pingpong", "ping-pongs, as server and as client", pingPongs, conversation),
  attacked("perf", "cli perf, as server and as client", [perf], lines),
];
