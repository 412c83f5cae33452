/**
 * A program with many connections: a server that echoes, or connections to it that are idle, or busy. It reads lines, and
 * answers each with a line of numbers.
 */

import { connectRc, listenRc, type RcConn } from "../../net/mod.ts";
import { linesOf } from "../contender.ts";

const MANY = 2 ** 20;
/** Connections that are made at the same time. */
const AT_ONCE = 16;
const message = new Uint8Array(64);
const buffer = new Uint8Array(2 ** 15);

/** Whether both ends find each other by the communication manager, and not by TCP. */
const isByAddress = Deno.args[0] === "port";

const library = Deno.env.get("IBVERBS_LIBRARY");
const device = library === undefined ? undefined : Deno.dlopen(library, {
  shm_registered: { parameters: [], result: "u64" },
});

/** The device of shared memory counts the bytes that are registered, and the kernel does for others. */
function registeredBytes(): number {
  if (device !== undefined) return Number(device.symbols.shm_registered());
  const status = Deno.readTextFileSync("/proc/self/status");
  return 1024 * Number(status.match(/^VmPin:\s*(\d+)/m)![1]);
}

async function echo(conn: RcConn): Promise<void> {
  for (let received; (received = await conn.receive()) !== null;) await conn.send(received);
}

async function serve(): Promise<number> {
  const limits = { maxPending: MANY, maxHandshakes: MANY, maxPerPeer: MANY };
  const onFailure = ({ message }: Error): void => console.error(message);
  const listener = await listenRc({
    [isByAddress ? "port" : "tcpPort"]: 0,
    connectTimeout: 120_000,
    ...limits,
    onFailure,
  });
  (async () => {
    for await (const conn of listener) echo(conn).catch(() => {});
  })();
  return listener.addr.port;
}

const conns: RcConn[] = [];

/** Connects so often. Returns the milliseconds of a connection. */
async function connect(port: number, count: number): Promise<number> {
  // The communication manager finds no loopback address.
  const remote = isByAddress ? { hostname: "10.0.0.1", port } : { tcpPort: port };
  const start = performance.now();
  let left = count;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) {
      conns.push(await connectRc({ ...remote, connectTimeout: 120_000 }));
    }
  }));
  return (performance.now() - start) / count;
}

/** The bytes of the heap without those that are registered, and the latter. */
async function memory(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (let i = 0; i < 3; i++) gc!();
  const { heapUsed, external } = Deno.memoryUsage();
  const registered = registeredBytes();
  // V8 counts what is registered as memory that the heap keeps.
  return `${heapUsed + external - registered} ${registered}`;
}

declare const gc: (() => void) | undefined;

/** The median of so many calls in nanoseconds. */
async function call(count: number): Promise<number> {
  const [conn] = conns as [RcConn];
  const times = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await conn.send(message);
    await conn.receive(buffer);
    times[i] = performance.now() - start;
  }
  return times.sort()[count >> 1]! * 1e6;
}

/** All connections send and receive for so many milliseconds. Returns the answers in a second. */
async function load(ms: number, window: number): Promise<number> {
  const start = performance.now();
  let answers = 0;
  await Promise.all(conns.map(async (conn) => {
    while (performance.now() - start < ms) {
      for (let i = 0; i < window; i++) await conn.send(message);
      for (let i = 0; i < window; i++) await conn.receive();
      answers += window;
    }
  }));
  return answers / (performance.now() - start) * 1000;
}

const WORK: Readonly<Record<string, (...numbers: number[]) => Promise<number | string>>> = {
  serve,
  connect,
  memory,
  call,
  load,
};

for await (const line of linesOf(Deno.stdin.readable)) {
  const [work, ...numbers] = line.split(" ") as [string, ...string[]];
  try {
    console.log(await WORK[work]!(...numbers.map(Number)));
  } catch (error) {
    console.log(`! ${(error as Error).message}`);
  }
}
Deno.exit(0);
