/** A server whose connections come and go: `server.ts MINUTES CONNECTIONS`. It starts the program of its clients. */

import { listenRc, type RcConn } from "../../net/mod.ts";
import { inProject } from "../host/paths.ts";
import { report, type Sample } from "./verdict.ts";

const LIMITS = {
  resident: 48e6,
  heap: 2e6,
  // Busy connections have more receives, and which are busy is chance.
  registered: 48e6,
  // Eight connections at a time are being made.
  descriptors: 10,
  threads: 10,
};
const SAMPLES = 60;
/** The client makes all connections from one address, as fast as it can. */
const UNLIMITED = { maxPending: 2 ** 20, maxHandshakes: 2 ** 20, maxPerPeer: 2 ** 20 };

const { symbols } = Deno.dlopen(Deno.env.get("IBVERBS_LIBRARY")!, {
  shm_registered: { parameters: [], result: "u64" },
});
const [minutes, connections] = Deno.args.map(Number) as [number, number];
const done = { connections: 0, messages: 0 };
const faults: string[] = [];
const samples: Sample<keyof typeof LIMITS>[] = [];

function held(): Sample<keyof typeof LIMITS>["held"] {
  (globalThis as unknown as { gc: () => void }).gc();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  const registered = Number(symbols.shm_registered());
  return {
    resident: rss,
    // V8 counts what is registered as memory that the heap keeps.
    heap: heapUsed + external - registered,
    registered,
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    threads: [...Deno.readDirSync("/proc/self/task")].length,
  };
}

async function echo(conn: RcConn): Promise<void> {
  await using _closed = conn;
  done.connections++;
  for await (const message of conn) {
    await conn.send(message);
    done.messages++;
  }
}

const listener = await listenRc({
  tcpPort: 0,
  ...UNLIMITED,
  onFailure: ({ message }) => faults.push(message),
});
const served = (async () => {
  for await (const conn of listener) echo(conn).catch(({ message }) => faults.push(message));
})();
const client = new Deno.Command(Deno.execPath(), {
  args: [
    ...["run", "-A", "--no-check", inProject("tools/soak/client.ts")],
    ...[listener.addr.port, connections, minutes].map(String),
  ],
}).spawn();
const timer = setInterval(
  () => samples.push({ held: held(), done: { ...done } }),
  60_000 * minutes / SAMPLES,
);
const { code } = await client.status;
if (code !== 0) faults.push(`the client ended with status ${code}`);
clearInterval(timer);
listener.close();
await served;
console.log("  at the end:", held());
Deno.exit(report(samples, LIMITS, faults));
