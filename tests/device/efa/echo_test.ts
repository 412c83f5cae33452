// Many messages between two processes: what a reply path answers is what a C program answers.

import { assertEquals, assertGreater } from "@std/assert";
import type { AddressHandle, CompletionQueue, QueuePair } from "../../../mod.ts";
import { compileC } from "../../c/compile.ts";
import { type Program, start, startDeno } from "../programs.ts";
import {
  type Adapter,
  ANSWER,
  efaTest,
  End,
  type Fabric,
  HEADROOM,
  MESSAGE,
  QKEY,
  take,
} from "./bed.ts";

/** A multiple of {@linkcode ROUND}. An emulated guest takes 7 ms for each. */
const COUNT = Number(Deno.env.get("IBVERBS_EFA_MESSAGES") ?? 2000);
/** How many messages each sender sends at a time. */
const WINDOW = 8;
/** How many messages come before the responder forgets all senders. */
const ROUND = 400;

/** One who asks, on an adapter of its own. */
interface Client {
  readonly adapter: Adapter;
  readonly qp: QueuePair;
  readonly cq: CompletionQueue;
  readonly ah: AddressHandle;
}

type Kind = "srd" | "ud";

function clientsOf({ left, right, neighbour }: Fabric, kind: Kind): Client[] {
  return [left, neighbour].map((adapter) => {
    const ah = adapter.to(right);
    if (kind === "ud") return { adapter, qp: adapter.ud(), cq: adapter.cq, ah };
    const { qp, cq } = new End(adapter);
    return { adapter, qp, cq, ah };
  });
}

/** A message tells its number, and has other bytes that differ from one to the next. */
function write(bytes: Uint8Array, number: number): void {
  for (let i = 0; i < MESSAGE; i++) bytes[i] = i < 4 ? number >>> 8 * i : number * 31 + i * 7;
}

/** Sends messages, and puts the answers where their numbers say. */
async function ask(
  { adapter: { mr }, qp, cq, ah }: Client,
  kind: Kind,
  [first, remoteQpn]: readonly [first: number, remoteQpn: number],
  answers: Uint8Array,
): Promise<void> {
  const headroom = kind === "ud" ? HEADROOM : 0;
  const requests = Array.from({ length: WINDOW }, (_, i) => {
    qp.postRecv({ wrId: 1 + i, sge: mr.slice(4096 + 128 * i, headroom + ANSWER) });
    write(mr.bytes(128 * i, MESSAGE), first + i);
    return { sge: mr.slice(128 * i, MESSAGE), ah, remoteQpn, remoteQkey: QKEY };
  });
  qp.postSend(requests);
  for (const wc of await take(cq, 2 * WINDOW)) {
    wc.check();
    if (wc.wrId === 0n) continue;
    assertEquals(wc.byteLen, headroom + ANSWER);
    const bytes = mr.bytes(4096 + 128 * (Number(wc.wrId) - 1) + headroom, ANSWER);
    const number = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    answers.set(bytes, number * ANSWER);
  }
}

/** What a responder answers to all messages. Both senders are strangers and known, and more than once. */
async function answersOf(
  responder: Program,
  clients: readonly Client[],
  kind: Kind,
): Promise<Uint8Array> {
  await using program = responder;
  const answers = new Uint8Array(COUNT * ANSWER);
  const { qpn } = await program.hear() as { qpn: number };
  for (let first = 0; first < COUNT; first += 2 * WINDOW) {
    await Promise.all(
      clients.map((client, i) => ask(client, kind, [first + i * WINDOW, qpn], answers)),
    );
  }
  const told = await program.hear() as Record<"strangers" | "known", number>;
  assertEquals(told.strangers + told.known, COUNT);
  assertGreater(told.strangers, COUNT / ROUND);
  assertGreater(told.known, COUNT / ROUND);
  assertEquals((await program.ending).code, 0);
  return answers;
}

/** What an answer has to be. */
function expected(clients: readonly Client[], kind: Kind, number: number): Uint8Array {
  const answer = new Uint8Array(ANSWER);
  const { adapter, qp } = clients[Math.floor(number / WINDOW) % 2]!;
  write(answer, number);
  answer.set(adapter.context.queryGid(1, 0).bytes, MESSAGE);
  const view = new DataView(answer.buffer, MESSAGE + 16);
  view.setUint32(0, qp.qpNum, true);
  view.setUint32(4, MESSAGE + (kind === "ud" ? HEADROOM : 0), true);
  return answer;
}

for (const kind of ["srd", "ud"] as const) {
  efaTest(
    `Answers to ${COUNT} messages of ${kind}, of strangers and known senders, are those of C`,
    async (fabric) => {
      const clients = clientsOf(fabric, kind);
      const args = ["efa_1", kind, `${COUNT}`, `${ROUND}`, `${QKEY}`];
      const program = await compileC("efa_responder.c", ["-lefa", "-libverbs"]);
      const ofC = await answersOf(start(program, ...args), clients, kind);
      const own = new URL("responder.ts", import.meta.url).pathname;
      const ofOwn = await answersOf(startDeno(own, args), clients, kind);
      assertEquals(ofOwn.toHex() === ofC.toHex(), true);
      for (let i = 0; i < COUNT; i += 7) {
        const at = i * ANSWER;
        assertEquals(ofOwn.subarray(at, at + ANSWER).toHex(), expected(clients, kind, i).toHex());
      }
    },
  );
}
