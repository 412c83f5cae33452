/** Connections to a server that come, are called, and go: `client.ts PORT CONNECTIONS MINUTES`. */

import { connectRc, type RcConn } from "../../net/mod.ts";

const AT_ONCE = 8;
/** Calls for each connection that is closed and made again. */
const CALLS = 40;
const MOST_BYTES = 4096;

const [tcpPort, count, minutes] = Deno.args.map(Number) as [number, number, number];
const conns: RcConn[] = [];
const unused: number[] = Array.from({ length: count }, (_, i) => i);

async function connect(): Promise<RcConn> {
  return await connectRc({ tcpPort, connectTimeout: 120_000 });
}

async function call(conn: RcConn): Promise<void> {
  const length = 4 + 4 * Math.floor(Math.random() * (MOST_BYTES / 4));
  const message = crypto.getRandomValues(new Uint8Array(length));
  await conn.send(message);
  const answer = await conn.receive();
  if (answer?.toHex() !== message.toHex()) throw new Error("An answer was lost or changed");
}

function connectAll(): Promise<void[]> {
  return atOnce(async () => {
    for (let i; (i = unused.pop()) !== undefined;) conns[i] = await connect();
  });
}

/** Calls connections at random, each by one caller at a time, and has some come and go. */
function callAll(end: number): Promise<void[]> {
  const free = [...conns.keys()];
  return atOnce(async () => {
    for (let calls = 1; performance.now() < end; calls++) {
      const [i] = free.splice(Math.floor(Math.random() * free.length), 1) as [number];
      await call(conns[i]!);
      if (calls % CALLS === 0) {
        conns[i]!.close();
        conns[i] = await connect();
      }
      free.push(i);
    }
  });
}

function atOnce(work: () => Promise<void>): Promise<void[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, work));
}

const end = performance.now() + 60_000 * minutes;
await connectAll();
await callAll(end);
for (const conn of conns) conn.close();
