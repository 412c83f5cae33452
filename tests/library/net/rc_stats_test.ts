// What a connection tells of itself: its counters, its end, and who the peer is.
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  connectRc,
  listenRc,
  type RcAddress,
  type RcClosed,
  type RcStats,
} from "../../../net/mod.ts";
import { bytes, pairs, rcPair, RXE, test, text, until } from "./recorder_net.ts";

const quiet = pairs({ keepAlive: 0, credits: 2, maxMessage: 64 });

/** Those that are not as given fail the test. */
function assertStats(stats: RcStats, expected: Partial<RcStats>): void {
  assertEquals({ ...stats, ...expected }, stats);
}

quiet.test("RcConn.stats counts messages, writes and their bytes in both directions", async ({ client, server }) => {
  const nothing = { sent: 0, bytesSent: 0, received: 0, bytesReceived: 0 };
  const noWrites = { writesSent: 0, writesReceived: 0 };
  assertStats(client.stats, { ...nothing, ...noWrites, waiting: 0 });
  for (const word of ["hello", "you"]) {
    await client.send(bytes(word));
    await server.receive();
  }
  using memory = await server.expose(100);
  await client.write(memory.remote, 0, new Uint8Array(100), { immData: 1 });
  await client.write(memory.remote, 0, new Uint8Array(100));
  assertStats(client.stats, { ...nothing, sent: 2, bytesSent: 8, writesSent: 1 });
  const received = { received: 2, bytesReceived: 8, writesReceived: 1 };
  assertStats(server.stats, { ...nothing, ...received, writesSent: 0, waiting: 1 });
});

quiet.test("RcConn.stats tells what each end may send, and what waits", async ({ client, server }) => {
  await client.send(bytes("first"));
  await server.receive();
  // The peer has promised two.
  const { credits } = client.stats;
  await client.send(bytes("second"));
  assertStats(client.stats, { credits: credits - 1 });
  const { promised, waiting } = server.stats;
  assertEquals([waiting, promised >= client.stats.credits], [1, true]);
});

test("RcConn.stats stays after the end, but for the memory", async () => {
  const { client, server } = await rcPair({ keepAlive: 0, maxMessage: 64 });
  await client.send(bytes("hello"));
  await server.receive();
  assertEquals(server.stats.memory % 64 === 0 && server.stats.memory > 0, true);
  await Promise.all([client.close(), server.close()]);
  assertStats(client.stats, { sent: 1, bytesSent: 5, memory: 0 });
  assertStats(server.stats, { received: 1, bytesReceived: 5, memory: 0 });
});

test("RcConn.closed tells which end has closed the connection, without a call that waits", async () => {
  const { client, server } = await rcPair({ keepAlive: 0 });
  let end: RcClosed | undefined;
  void server.closed.then((closed) => end = closed);
  await client.send(bytes("last"));
  await client.close();
  await until("the end is noticed", () => end !== undefined);
  assertEquals(await client.closed, { reason: "closed here" });
  assertEquals(await server.closed, { reason: "closed by the peer" });
  assertEquals(text(await server.receive()), "last");
  await server.close();
  assertEquals(await server.closed, { reason: "closed by the peer" });
});

quiet.test("RcConn.closed resolves if this end is closed at once", async ({ client }) => {
  const { closed } = client;
  client[Symbol.dispose]();
  assertEquals([await closed, client.closed === closed], [{ reason: "closed here" }, true]);
});

quiet.test("RcConn.closed tells what has broken the connection", async ({ client, server }) => {
  using memory = await server.expose(8);
  const wrong = { ...memory.remote, rkey: memory.remote.rkey + 1 };
  const cause = await assertRejects(() => client.write(wrong, 0, new Uint8Array(8)), Error);
  const { reason, error } = await client.closed;
  assertEquals([reason, error instanceof Deno.errors.ConnectionReset], ["broken", true]);
  assertStringIncludes(error!.message, cause.message);
  await client.close();
  assertEquals(await client.closed, { reason, error });
});

test("RcConn.remoteAddr has the addresses of TCP, and none that the program has exchanged", async () => {
  const options = { device: RXE, keepAlive: 0 };
  await using listener = await listenRc(options);
  const { port } = listener.addr;
  await using client = await connectRc({ ...options, tcpPort: port });
  await using server = await listener.accept();
  assertEquals(client.remoteAddr, { hostname: "127.0.0.1", port });
  assertEquals([server.remoteAddr!.hostname, server.remoteAddr!.port === port], [
    "127.0.0.1",
    false,
  ]);
  assertEquals([server.localAddr, client.localAddr], [client.remoteAddr, server.remoteAddr]);
  const exchange = (address: RcAddress): Promise<RcAddress> => Promise.resolve(address);
  await using loop = await connectRc({ ...options, exchange });
  assertEquals([loop.remoteAddr, loop.localAddr], [undefined, undefined]);
});
