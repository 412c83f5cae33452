// Examples, and what they print: alone, and with ends that meet over TCP. They run in the process of the test: an emulated
// processor takes seconds to start a program.
import { assertEquals, assertMatch } from "@std/assert";
import { main as count } from "../../../examples/atomics_counter.ts";
import { main as show } from "../../../examples/devices.ts";
import { main as transfer } from "../../../examples/file_transfer.ts";
import { main as write } from "../../../examples/rc_write_imm.ts";
import { main as askMany } from "../../../examples/reply_path_clients.ts";
import { main as rpc } from "../../../examples/rpc_by_address.ts";
import { main as echo } from "../../../examples/ud_echo.ts";
import { main as reply } from "../../../examples/ud_reply_path.ts";
import { main as watch } from "../../../examples/watch_events.ts";
import { main as share } from "../../../examples/workers.ts";
import { type Ending, freshPort, untilListening } from "../programs.ts";
import { deviceTest, RXE } from "../setup.ts";

/** The main function of an example. */
type Main = (args: readonly string[]) => Promise<number>;

/** Runs something, and keeps what this process prints meanwhile. */
export async function printed(run: () => Promise<number>): Promise<Ending> {
  const { log, error } = console;
  const texts = { stdout: "", stderr: "" };
  console.log = (...values) => void (texts.stdout += `${values.join(" ")}\n`);
  console.error = (...values) => void (texts.stderr += `${values.join(" ")}\n`);
  try {
    return { code: await run(), signal: null, ...texts };
  } finally {
    Object.assign(console, { log, error });
  }
}

/** Runs both ends of an example, which meet over TCP. A server that serves on is asked to end. */
async function bothEnds(main: Main, ends: boolean, args: readonly string[]): Promise<number> {
  const port = Number(args.find((arg) => arg.startsWith("--tcp-port"))!.split("=")[1]);
  const serving = main(["--listen", ...args]);
  await untilListening(port);
  const code = await main(["--connect=127.0.0.1", ...args]);
  assertEquals(code, 0, "the client failed");
  if (!ends) Deno.kill(Deno.pid, "SIGTERM");
  return await serving;
}

/** An example, its arguments, and patterns of what it prints. */
export interface Row {
  readonly main: Main;
  readonly args: readonly string[];
  readonly prints: readonly RegExp[];
  /** Whether its two ends can meet over TCP; the server ends by itself or serves on. */
  readonly server?: "ends" | "serves on";
}

const FILES = Deno.makeTempDirSync();
const FILE = `${FILES}/from`;
globalThis.addEventListener("unload", () => Deno.removeSync(FILES, { recursive: true }));
Deno.writeFileSync(FILE, Uint8Array.from({ length: 12 * 65_536 + 1 }, (_, i) => i * 31 >> 5));

/** The examples. */
export const ROWS: Readonly<Record<string, Row>> = {
  devices: {
    main: show,
    args: [],
    prints: [
      /^\S+: CA, IB\n {2}port 1: ACTIVE, ETHERNET, MTU (1024|4096)\n/,
      /^ {4}\* GID \d+ +ROCE_V2/m,
    ],
  },
  ud_echo: {
    main: echo,
    args: ["--message", "\x1b[2Jü"],
    prints: [/^server: 6 bytes from \S+, queue pair \d+$/m, /^client: "\\x1b\[2Jü" came back$/m],
    server: "serves on",
  },
  ud_reply_path: {
    main: reply,
    args: ["-m", "Hello"],
    prints: [
      /^listener: received "Hello"$/m,
      /^the completion \(struct ibv_wc\) WorkCompletion .*byteLen: 45/m,
      /^the address of the sender \(struct ibv_ah_attr\)/m,
      /^listener: replied to queue pair 0x[0-9a-f]{6} at \S+$/m,
      /^caller: received "5 bytes came from queue pair 0x[0-9a-f]{6} at \S+"$/m,
    ],
    server: "ends",
  },
  reply_path_clients: {
    main: askMany,
    args: ["--clients=3", "--rounds=2"],
    prints: [
      /^client: 3 clients got the answers to 2 datagrams each$/m,
      /^server: answered \d+ datagrams of 3 clients with 1 address handle$/m,
    ],
    server: "serves on",
  },
  rc_write_imm: {
    main: write,
    args: ["--message", "ä/\u009b2J"],
    prints: [/^server: slot 0 has "ä" \(2 bytes\)$/m, /^server: slot 1 has "\\x9b2J"/m],
    server: "ends",
  },
  atomics_counter: {
    main: count,
    args: ["--clients=3", "--adds=20"],
    prints: [/^client \d: added 1 20 times/m, /^server: the counter is 60$/m],
    server: "serves on",
  },
  file_transfer: {
    main: transfer,
    args: ["-f", FILE, "-o", `${FILES}/to`],
    prints: [/^client: 786433 bytes arrived as they were sent$/m, /^server: .* in 13 parts, SHA-/m],
    server: "ends",
  },
  rpc_by_address: {
    main: rpc,
    args: [`--service=${freshPort()}`],
    prints: [/^add\(2,3\) gives 5$/m, /^frobnicate\(\) fails: "there is no such function"$/m],
  },
  watch_events: { main: watch, args: ["-s", "1"], prints: [/^watching \S+$/m] },
  workers: {
    main: share,
    args: ["--workers=2", "--timeout=60"],
    // The message that arrives first is read by worker 1, and either may.
    prints: [/^worker 0 reads "/m, /^worker 1 reads "/m, /from worker 0"/, /from worker 1"/],
  },
};

/** Checks how an example ended, and what it has printed. */
export function assertPrinted({ code, stdout, stderr }: Ending, { prints }: Row): void {
  assertEquals([stderr, code], ["", 0]);
  for (const pattern of prints) assertMatch(stdout, pattern);
}

/** The arguments of an example that runs alone. */
export function argsOf({ args, server }: Row): string[] {
  const ports = server === undefined ? [] : [`--tcp-port=${freshPort()}`];
  return ["-d", RXE, ...ports, ...args];
}

/** Defines the test of an example alone. */
export function testAlone(name: string): void {
  const row = ROWS[name]!;
  deviceTest(`${name}.ts does what it says`, async () => {
    assertPrinted(await printed(() => row.main(argsOf(row))), row);
  });
}

/** Defines tests of those examples whose ends can meet. */
export function testBothEnds(): void {
  for (const [name, row] of Object.entries(ROWS).filter(([, { server }]) => server !== undefined)) {
    deviceTest(`${name}.ts does it between ends that meet over TCP`, async () => {
      const args = argsOf(row);
      assertPrinted(await printed(() => bothEnds(row.main, row.server === "ends", args)), row);
    });
  }
}
