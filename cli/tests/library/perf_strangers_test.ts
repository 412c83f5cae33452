// What a client sends to a server of perf may be anything: the server says in its own words what it cannot use.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import * as recorder from "../../../tests/provider/recorder.ts";
import { isOfEngine } from "../../../tests/engine_words.ts";
import { freePort } from "../pure/tcp.ts";
import { ran } from "../pure/terminal.ts";

type Message = Readonly<Record<string, unknown>>;

/** A client that reads memory: it needs no messages of queue pairs. */
const CONVERSATION: readonly Message[] = [
  {
    ...{ perf: 2, verb: "read", kind: "rc", size: 64, iters: 10, messages: 10, duration: 0, qp: 1 },
    ...{ mtu: 1024, left: 0, addr: "0x0", rkey: 0, reads: 1 },
    addresses: [`0000:000001:000001:${"0".repeat(32)}\0`],
  },
  { asked: 12, warmUp: 2 },
  { sent: 10, received: 10, microseconds: 100 },
];

/** Values that JSON has and no field. */
const GARBAGE: readonly unknown[] = [
  ...[null, true, {}, [], { toString: 1, valueOf: 1 }, [{ toString: 1, valueOf: 1 }], [[]]],
  ...["", "x", "\x1b[2J", -1, 1.5, 1e308],
];

/** Says something to a server, and returns when that has closed the connection. */
async function say(port: number, conversation: readonly (Message | string)[]): Promise<string> {
  using connection = await Deno.connect({ port });
  const lines = conversation.map((said) =>
    typeof said === "string" ? said : `${JSON.stringify(said)}\n`
  );
  await connection.write(new TextEncoder().encode(lines.join("")));
  await connection.closeWrite();
  return await new Response(connection.readable).text();
}

/** What a server prints to a client that says all this. */
async function answerTo(
  conversation: readonly (Message | string)[],
): Promise<[status: number, err: string]> {
  recorder.reset();
  const port = freePort();
  const serving = ran(["perf", "-p", `${port}`, "--timeout", "5"]);
  const [{ status, err }] = await Promise.all([serving, say(port, conversation)]);
  return [status, err];
}

/** What a server prints to somebody else, after whom a client comes whom it serves. */
async function answerToStranger(said: string): Promise<string> {
  recorder.reset();
  const port = freePort();
  const serving = ran(["perf", "-p", `${port}`, "--timeout", "5"]);
  await say(port, [said]);
  const [{ status, err }] = await Promise.all([serving, say(port, CONVERSATION)]);
  assertEquals(status, 0, err);
  return err;
}

function changed(at: number, change: Message): readonly Message[] {
  return CONVERSATION.with(at, { ...CONVERSATION[at], ...change });
}

function assertRefused([status, err]: [number, string], what: string): void {
  assertEquals(status, 1, what);
  const message = err.replace(/^perf: /, "").trim();
  assert(message !== "" && !isOfEngine(new TypeError(message)), `${what}: ${message}`);
  assertEquals(isOfEngine(new RangeError(message)), false, `${what}: ${message}`);
}

Deno.test("perf serves a client that reads", async () => {
  assertEquals(await answerTo(CONVERSATION), [0, ""]);
});

/** What somebody says who is no perf, and what the server says of it. */
const STRANGERS: readonly (readonly [said: string, message: string])[] = [
  ["", "the peer closed the connection"],
  ["null\n", 'the peer is no perf: it sent "null"'],
  ["no\x1b perf\n", String.raw`the peer is no perf: it sent "no\u001b perf"`],
  // What ib_send_lat sends before it waits for an answer: 16 bytes without an end of line.
  [
    `6.26${"\0".repeat(12)}`,
    'the peer is no perf: it sent "6.26", as ib_send_lat and the other tools of perftest do',
  ],
  ["GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n", 'it sent "GET / HTTP/1.1\\r"'],
  ["x".repeat(99), `it sent "${"x".repeat(40)}..."`],
  [`{${" ".repeat(0x4001)}\n`, "the peer is no perf: its line is long"],
  ["{]\n", 'the peer is no perf: it sent "{]"'],
  ['{"perf":2,"error":"no"}\n', "the peer says: no"],
  ['{"doctor":1}\n', "the peer is no perf: its message is one of another command"],
  ['{"perf":1}\n', 'the two ends speak versions "1" and 2 of the protocol of perf: both need'],
  ['{"perf":{}}\n', "the two ends speak versions an object and 2 of the protocol of perf"],
];

/** What is wrong in the first message of a client, and what the server says of it. */
const CLIENTS: readonly (readonly [said: Message, message: string])[] = [
  [{ verb: "sing" }, "the peer asks for an unknown verb"],
  [{ kind: "rd" }, "the peer asks for an unknown kind"],
  [{ kind: "uc" }, "RDMA read needs queue pairs of kind rc"],
  [{ verb: "write", kind: "ud" }, "RDMA write needs queue pairs of kind rc or uc"],
  [{ addresses: ["x"] }, 'Cannot read address: "x" is not LID:QPN:PSN:GID in 52 bytes'],
  [{ addr: "x" }, "the peer sent no address of memory"],
  ...Object.entries({
    ...{ duration: [-1], qp: [0, 257], left: [65], rkey: [-1], reads: [0], mtu: [255, 4097] },
    ...{ size: [0, 1.5, 2 ** 24 + 1], iters: [9, 1e7 + 1], messages: [9, 1e7 + 1] },
  }).flatMap(([name, values]) =>
    values.map((value) => [{ [name]: value }, `the peer sent "${value}" for ${name}`] as const)
  ),
];

Deno.test("perf says what is wrong with a stranger, and serves the client that comes after it", async () => {
  for (const [said, message] of STRANGERS) {
    const err = await answerToStranger(said);
    assertStringIncludes(err, message);
    assertMatch(err, /^perf: [\d.]+ is not served: .*; the server goes on waiting\n$/);
  }
});

Deno.test("perf says what is wrong with a client", async () => {
  for (const [said, message] of CLIENTS) {
    assertEquals(await answerTo(changed(0, said)), [1, `perf: ${message}\n`]);
  }
});

Deno.test("a client of perf says at once that its server is another program", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serve = async (): Promise<void> => {
    using connection = await listener.accept();
    // A tool of perftest reads a version, and answers with its own.
    await connection.read(new Uint8Array(16));
    await connection.write(new TextEncoder().encode(`6.26${"\0".repeat(12)}`));
    await new Response(connection.readable).text();
  };
  recorder.reset();
  const asking = ran(["perf", "127.0.0.1", "-p", `${listener.addr.port}`]);
  const [{ status, err }] = await Promise.all([asking, serve()]);
  assertEquals(status, 1);
  assertStringIncludes(
    err,
    'the peer is no perf: it sent "6.26", as ib_send_lat and the other tools',
  );
  assertStringIncludes(err, "perf talks to perf of @rdma/cli only");
});

Deno.test("perf refuses garbage in any field of a client's messages in its own words", async () => {
  for (const [at, message] of CONVERSATION.entries()) {
    // A server does not answer reads: it does not look at how many were asked.
    for (const name of Object.keys(message).filter((name) => name !== "asked")) {
      for (const value of GARBAGE) {
        const what = `message ${at}, ${name}: ${JSON.stringify(value)}`;
        // A number that is a possible time.
        if (name === "microseconds" && typeof value === "number" && value > 0) continue;
        // Who says so is another program.
        if (name === "perf") continue;
        assertRefused(await answerTo(changed(at, { [name]: value })), what);
      }
    }
  }
  for (const value of GARBAGE) {
    assertRefused(await answerTo(changed(1, { error: value })), `error: ${JSON.stringify(value)}`);
  }
});

Deno.test("perf refuses a client that leaves no latency to measure", async () => {
  const sends = { ...CONVERSATION[0], verb: "send" };
  for (const asked of [0, 1]) {
    const [status, err] = await answerTo([sends, { asked, warmUp: 0 }, CONVERSATION[2]!]);
    assertEquals(status, 1);
    assertMatch(err, new RegExp(`the peer sent "${asked}" for asked`));
  }
});
