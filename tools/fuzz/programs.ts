/** The examples as programs, on the recording provider, with hostile peers. */

import { recorderPath } from "../../tests/provider/compile.ts";
import { inProject } from "../host/paths.ts";
import { jsonLine, spoiled } from "./inputs.ts";
import { call, freePort, type Peer, peerLike, serve } from "./peers.ts";
import { fc, isHarmless, refuse, same, type Target, target, within } from "./target.ts";

const LIMIT_MS = 60_000;

/** Servers that serve one client, and those that serve until they are ended. */
const ONCE = ["ud_reply_path", "rc_write_imm"];
const FOREVER = ["ud_echo", "reply_path_clients", "atomics_counter"];

async function start(name: string, port: number, end: string): Promise<Deno.ChildProcess> {
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--no-prompt", "--allow-ffi", "--allow-net"],
      ...["--allow-env=IBVERBS_LIBRARY", `--import-map=${inProject("tools/std/import_map.json")}`],
      ...[inProject(`examples/${name}.ts`), end, `--tcp-port=${port}`, "--timeout=1"],
    ],
    env: { IBVERBS_LIBRARY: await recorderPath(), NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Waits for the end of an example. What it prints is harmless, and an error is a message without a stack. */
async function ended(name: string, child: Deno.ChildProcess): Promise<void> {
  const { code, stdout, stderr } = await within(LIMIT_MS, name, child.output());
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (code === 1) refuse();
  if (isHarmless(text) && !/^ +at /m.test(text) && code < 2) return;
  throw new Error(`${name} ends with status ${code} and prints ${JSON.stringify(text)}`);
}

/** A good address, of one of the forms that the examples have. */
const good: fc.Arbitrary<Record<string, unknown>> = fc.tuple(
  fc.record({ gid: fc.ipV4(), lid: fc.nat(0xffff), qpn: fc.nat(0xff_ffff) }),
  fc.constantFrom<object>({}, { transport: "UD", qkey: 1 }, {
    ...{ transport: "RC", psn: 1, mtu: 1024, rdAtomic: 1, credits: 4, maxMessage: 64 },
  }),
  fc.boolean(),
).map(([address, more, nested]) => {
  const whole = { ...address, ...more };
  // rc_write_imm sends more than an address.
  return nested
    ? { address: { ...whole, transport: "RC", qkey: null }, rkey: 1, addr: "0" }
    : whole;
});

const peer = peerLike(spoiled(good).map(jsonLine));

async function attackClient([name, peer]: [string, Peer]): Promise<void> {
  const run = async (port: number): Promise<void> =>
    await ended(name, await start(name, port, "--connect=127.0.0.1"));
  await serve(peer, run);
}

const SILENT: Peer = { pieces: [], ending: "half-close" };

/** An example that hostile peers call, all at once. Then one that serves on still answers. */
async function attackServer([name, peers]: [string, Peer[]]): Promise<void> {
  const port = freePort();
  const child = await start(name, port, "--listen");
  let isOver = false;
  const ending = ended(name, child).finally(() => isOver = true);
  const attacks = peers.map((peer) => call(peer, port, () => isOver));
  await within(LIMIT_MS, `the attack on ${name}`, Promise.all(attacks));
  if (FOREVER.includes(name) && name !== "atomics_counter") {
    const called = call(SILENT, port, () => isOver);
    const answer = await within(LIMIT_MS, `the next peer of ${name}`, called);
    same(/^\{.*\}\n$/.test(new TextDecoder().decode(answer)), true, `the answer of ${name}`);
  }
  if (!isOver && FOREVER.includes(name)) child.kill("SIGTERM");
  await ending;
}

const example = fc.constantFrom(...ONCE, ...FOREVER);
const servers = fc.array(
  fc.tuple(example, fc.array(peer, { minLength: 1, maxLength: 3 })),
  { minLength: 1, maxLength: 3 },
);
const clients = fc.array(fc.tuple(example, peer), { minLength: 1, maxLength: 4 });

export const PROGRAMS: readonly Target[] = [
  target(
    "example-client",
    [50, 100],
    "examples that call a server",
    [clients],
    async (attacks) => (await Promise.all(attacks.map(attackClient))).length,
    3,
  ),
  target("example-server", [10, 90], "examples that peers call", [servers], async (attacks) => {
    await Promise.all(attacks.map(attackServer));
    return attacks.reduce((sum, [, peers]) => sum + peers.length, 0);
  }, 3),
];
