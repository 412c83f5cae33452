import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { Gid } from "../../../mod.ts";
import { type Address, encodeAddress } from "../../peer/address.ts";
import { exchangeAsClient, exchangeAsServer } from "../../pingpong/exchange.ts";
import { readBytes, writeBytes } from "../../peer/tcp.ts";
import { Deadline } from "../../shell/abort.ts";
import { until } from "../../../tests/until.ts";
import { freePort } from "./tcp.ts";

const server: Address = { lid: 1, qpn: 2, psn: 3, gid: Gid.parse("10.0.0.1") };
const client: Address = { lid: 4, qpn: 5, psn: 6, gid: Gid.parse("fd00::2") };
const ADDRESS = new TextDecoder().decode(encodeAddress(client));
const hostname = "127.0.0.1";

/** No stranger connects. */
const fail = (error: unknown): never => {
  throw error;
};

/** Connects as soon as somebody listens. */
async function connect(port: number): Promise<Deno.TcpConn> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      return await Deno.connect({ hostname, port });
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  throw new Error(`Cannot connect: nobody listens on port ${port}`);
}

Deno.test("exchangeAsServer() fills frames without an address", async () => {
  const port = freePort();
  const serving = exchangeAsServer(
    { port, timeout: 10, here: [server], frames: 3 },
    () => {},
    fail,
  );
  using connection = await connect(port);
  const empty = encodeAddress({ lid: 0, qpn: 0, psn: 0, gid: Gid.parse("::") });
  const { signal } = new AbortController();
  for (const frame of [encodeAddress(client), empty, empty]) {
    await writeBytes(connection, frame, signal);
  }
  for (const frame of [encodeAddress(server), empty, empty]) {
    assertEquals(await readBytes(connection, frame.length, signal), frame);
  }
  await writeBytes(connection, new TextEncoder().encode("done\0"), signal);
  assertEquals((await serving).map(encodeAddress), [encodeAddress(client)]);
});

/** What somebody says who is no client, and what the server says of it. */
const STRANGERS: [sent: string, message: string][] = [
  ["", "Cannot read address"],
  [ADDRESS.slice(0, 51), "0000000"],
  ["x".repeat(52), "xxx"],
  // What ib_send_lat says first; it sends no more before it has an answer.
  ["6.26\0\0\0\0\0\0\0\0\0\0\0\0", String.raw`"6.26\u0000" is not LID:QPN:PSN:GID`],
  // A terminal would obey these.
  ["\x1b[2J\x7f", String.raw`"\u001b[2J\u{7f}"`],
  ["\u009b3\u202e", String.raw`"\u{9b}3`],
];

Deno.test("exchangeAsServer() reports strangers, and serves the client that comes after them", async () => {
  const port = freePort();
  const reported: string[] = [];
  const report = (error: unknown): unknown => reported.push((error as Error).message);
  const serving = exchangeAsServer({ port, timeout: 10, here: [server] }, () => {}, report);
  using silent = await connect(port);
  for (const [i, [sent, message]] of STRANGERS.entries()) {
    using connection = await connect(port);
    await connection.write(new TextEncoder().encode(sent));
    if (!sent.startsWith("6.26")) await connection.closeWrite();
    await until("somebody is reported", () => reported.length === i + 1);
    assertStringIncludes(reported[i]!, message);
    assertMatch(reported[i]!, /^127\.0\.0\.1 is not served: .*; the server goes on waiting$/s);
  }
  const there = await exchangeAsClient(hostname, { port, timeout: 10, here: [client] });
  assertEquals(
    [there, await serving].flat().map(encodeAddress),
    [server, client].map(encodeAddress),
  );
  assertEquals(reported.length, STRANGERS.length);
  // Nobody waits any more: who has said nothing is closed.
  assertEquals(await silent.read(new Uint8Array(1)), null);
});

Deno.test("exchangeAsServer() goes on when who connects stays silent", async () => {
  const port = freePort();
  const { promise: reported, resolve } = Promise.withResolvers<unknown>();
  const serving = exchangeAsServer({ port, timeout: 0.05, here: [server] }, () => {}, resolve);
  using _silent = await connect(port);
  assertStringIncludes(`${await reported}`, "The client did not send its address within 0.05 s");
  await exchangeAsClient(hostname, { port, timeout: 10, here: [client] });
  await serving;
});

for (
  const [what, sent, end, message] of [
    ["never confirms", ADDRESS, false, "The client did not confirm the address within 0.05 s"],
    ["confirms nothing", ADDRESS, true, 'it sent ""'],
    ["confirms in other words", `${ADDRESS}DONE\0`, true, String.raw`it sent "DONE\u0000"`],
  ] as const
) {
  Deno.test(`exchangeAsServer() rejects when a client ${what}`, async () => {
    const port = freePort();
    const serving = exchangeAsServer({ port, timeout: 0.05, here: [server] }, () => {}, () => {});
    using connection = await connect(port);
    await connection.write(new TextEncoder().encode(sent));
    if (end) await connection.closeWrite();
    await assertRejects(() => serving, Error, message);
  });
}

/** A connection that does so whatever is asked of it. */
function connectionOf(act: () => Promise<never>): Deno.TcpConn {
  const remoteAddr = { hostname, port: 7 };
  return { read: act, write: act, remoteAddr } as unknown as Deno.TcpConn;
}

Deno.test("readBytes() and writeBytes() end when the signal aborts, whatever the connection does", async () => {
  // Deno 2.8.3 leaves what is pending on a closed connection.
  const connection = connectionOf(() => new Promise(() => {}));
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [
    readBytes(connection, 1, signal),
    writeBytes(connection, new Uint8Array(1), signal),
  ];
  const reason = new Error("enough");
  controller.abort(reason);
  for (const wait of waits) assertEquals(await assertRejects(() => wait, Error), reason);
});

Deno.test("readBytes() and writeBytes() name action and peer when the connection is reset", async () => {
  const reason = "Connection reset by peer (os error 104)";
  const connection = connectionOf(() => Promise.reject(new Deno.errors.ConnectionReset(reason)));
  const { signal } = new AbortController();
  const peer = `127.0.0.1, TCP port 7: ${reason}`;
  const read = () => readBytes(connection, 1, signal);
  await assertRejects(read, Error, `Cannot read from ${peer}`);
  const write = () => writeBytes(connection, new Uint8Array(1), signal);
  await assertRejects(write, Error, `Cannot write to ${peer}`);
});

Deno.test("exchangeAsClient() rejects when the server stays silent, or is not there", async () => {
  using listener = Deno.listen({ hostname, port: 0 });
  const { port } = listener.addr;
  const calling = exchangeAsClient(hostname, { port, timeout: 0.05, here: [client] });
  const accepting = listener.accept();
  await assertRejects(() => calling, Error, "did not send its address within 0.05 s");
  (await accepting).close();
  const nobody = { port: freePort(), timeout: 10, here: [client] };
  await assertRejects(() => exchangeAsClient(hostname, nobody), Error, "Cannot connect to");
});

Deno.test("new Deadline() counts seconds, and says what did not happen", () => {
  let now = 0;
  const ends: [() => void, number][] = [];
  const start = (end: () => void, ms: number): number => ends.push([end, ms]);
  using _clock = stub(performance, "now", () => now);
  using _timers = stub(globalThis, "setTimeout", start as never);
  using first = new Deadline(10, () => "Nobody answered");
  using second = new Deadline(10, () => "After 2 messages nobody answered");
  now = 10_000;
  for (const [end] of ends) end();
  assertEquals(ends.map(([, ms]) => ms), [10_000, 10_000]);
  const messages = [first, second].map(({ signal }) => signal.reason.message);
  assertEquals(messages, [
    "Nobody answered within 10 s",
    "After 2 messages nobody answered within 10 s",
  ]);
});
