// Datagrams without verbs between two Elastic Fabric Adapters, which the stub stands in for.

import { assertEquals } from "@std/assert";
import { WorkCompletionError } from "../../../mod.ts";
import { listenSrd, listenUd, type UdAddress, type UdConn } from "../../../net/mod.ts";
import { repetitions } from "../../rare.ts";
import { type Program, startDeno } from "../programs.ts";
import { until, withDeadline } from "../setup.ts";
import { calls } from "../stub.ts";
import { efaTest, QKEY } from "./adapters.ts";

const WANTED = Deno.env.get("IBVERBS_EFA_MESSAGES");
/** How often the responder opens a socket, to which both clients are strangers. */
const ROUNDS = WANTED === undefined ? repetitions(3, 5) : 5;
/** A multiple of the messages that both clients send at a time, in each round. */
const COUNT = Number(WANTED ?? ROUNDS * repetitions(32, 160));
/** How many messages a client sends at a time. */
const WINDOW = 8;

const text = new TextDecoder();
const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Receives, unless nothing comes. */
function receive(conn: UdConn): Promise<[Uint8Array, UdAddress]> {
  return withDeadline(
    new Error("No message comes"),
    (signal) => conn.receive({ signal }),
  );
}

/** Sends messages with these numbers. Each answer has its number, and who the responder takes for the sender. */
async function ask(conn: UdConn, to: UdAddress, first: number): Promise<void> {
  const messages = Array.from({ length: WINDOW }, (_, i) => `${first + i}`.padStart(6 + i, "."));
  await conn.sendMany(messages.map((message) => [bytes(message), to]));
  const answers: string[] = [];
  for (const _ of messages) answers.push(text.decode((await receive(conn))[0]));
  const { gid, qpNum } = conn.addr;
  assertEquals(answers.sort(), messages.map((message) => `${message} ${gid} ${qpNum}`).sort());
}

async function askAll(responder: Program, clients: readonly UdConn[]): Promise<number> {
  await using program = responder;
  let answered = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const to = await program.hear() as UdAddress;
    for (let asked = 0; asked < COUNT / ROUNDS; asked += clients.length * WINDOW) {
      await Promise.all(clients.map((conn, i) => ask(conn, to, asked + i * WINDOW)));
    }
    const { received, sent, dropped, sendErrors, resets } = await program.hear() as UdConn["stats"];
    assertEquals([received, dropped, sendErrors, resets], [COUNT / ROUNDS, 0, 0, 0]);
    answered += sent;
  }
  const { code, stderr } = await program.ending;
  assertEquals([code, stderr], [0, ""]);
  // One handle for each of both strangers, whatever number of messages comes before the first answer.
  assertEquals(calls("create_ah").filter(({ pid }) => pid === program.pid).length, 2 * ROUNDS);
  return answered;
}

for (const [kind, listen] of [["srd", listenSrd], ["ud", listenUd]] as const) {
  efaTest(
    `A process answers ${COUNT} messages of ${kind}, of strangers and of known senders`,
    async () => {
      await using far = await listen({ device: "efa_0", qkey: QKEY });
      await using near = await listen({ device: "efa_1", qkey: QKEY });
      const file = new URL("net_responder.ts", import.meta.url).pathname;
      const numbers = [QKEY, ROUNDS, COUNT / ROUNDS].map(String);
      const responder = startDeno(file, ["efa_1", kind, ...numbers]);
      const answered = await askAll(responder, [far, near]);
      assertEquals(answered, COUNT);
      assertEquals([far, near].map(({ stats }) => stats.received), [COUNT / 2, COUNT / 2]);
    },
  );
}

/** Notes the numbers of sends as they end; those that fail are negative. */
function sendAll(conn: UdConn, to: readonly UdAddress[]): { ends: number[]; all: Promise<void> } {
  const ends: number[] = [];
  const sends = to.map((address, i) =>
    conn.send(Uint8Array.of(i), address).then(() => i, (error) => {
      assertEquals(error instanceof WorkCompletionError, true, `${error}`);
      return -i;
    }).then((end) => void ends.push(end))
  );
  return { ends, all: Promise.all(sends).then(() => {}) };
}

efaTest("Reliable messages that nobody asks for are kept, and their senders wait", async () => {
  const few = { recvDepth: 4, maxQueued: 2 };
  await using to = await listenSrd({ device: "efa_1", qkey: QKEY, ...few });
  await using from = await listenSrd({ device: "efa_0", qkey: QKEY });
  const { ends, all } = sendAll(from, Array.from({ length: 20 }, () => to.addr));
  await until("all slots are full", () => ends.length === 6 && to.stats.received === 6);
  const received: number[] = [];
  for (let i = 0; i < 20; i++) received.push((await receive(to))[0][0]!);
  await all;
  assertEquals(received.toSorted((a, b) => a - b), received.map((_, i) => i));
  assertEquals([to.stats.dropped, from.stats.sendErrors], [0, 0]);
});
