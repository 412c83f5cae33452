// Processes on the network of the device of native speed: they end in the middle of what they do, and use many threads.

import { assertEquals } from "@std/assert";
import { SendFlags, WrOpcode } from "../../../mod.ts";
import {
  ALL,
  connect,
  connectTo,
  datagrams,
  type End,
  GRH,
  half,
  open,
  type ProcessEnd,
  QKEY,
  startC,
  test,
} from "./ends.ts";

const BYTE = [0, 0, 1] as const;

/** Starts a process in C that is killed at the end of a test. */
async function victim(env: Record<string, string> = {}): Promise<ProcessEnd> {
  const end = await startC(env);
  await open(end);
  return end;
}

test("A process that was killed answers nothing, from the first send on", async (a) => {
  const b = await victim();
  const [one, other] = await connect(a, b);
  const { addr, rkey } = await b.mr(64, ALL);
  const [two] = await connect(a, b);
  await b.recv(other.qp, 1, BYTE);
  await b.kill();
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals((await a.wait(one.cq))[0]!.status, "RETRY_EXC_ERR");
  await a.send(two.qp, { opcode: "RDMA_READ", to: [addr, rkey], sge: [[0, 0, 8]] });
  assertEquals((await a.wait(two.cq))[0]!.status, "RETRY_EXC_ERR");
});

test("A send that waits for a receive fails when the peer is killed", async (a) => {
  const b = await victim();
  const [one] = await connect(a, b);
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals(await a.poll(one.cq), []);
  await b.kill();
  assertEquals((await a.wait(one.cq))[0]!.status, "RETRY_EXC_ERR");
});

/** Has a process send datagrams without end, as fast as it can. */
async function flood(end: ProcessEnd, a: End, qpn: number): Promise<void> {
  const from = await datagrams(end);
  const ah = await end.number("ah", 1, 1, await a.do("gid", 1, 1));
  const request = [from.qp, 0, WrOpcode.SEND, SendFlags.SIGNALED, 0];
  await end.tell(["flood", ...request, ah, qpn, QKEY, 0, ...[0, 0, 4096]].join(" "));
}

test("Locks of a process that was killed are taken over", async (a, b) => {
  const to = await datagrams(a, { cqe: 1 });
  const from = await datagrams(b);
  const ah = await b.number("ah", 1, 1, await a.do("gid", 1, 1));
  for (let round = 0; round < 10; round++) {
    const killed = await victim();
    await flood(killed, a, to.qpn);
    await a.recv(to.qp, 1, [0, 0, 4096 + GRH]);
    await a.wait(to.cq);
    // Whatever it holds just then.
    await killed.kill();
    await b.send(from.qp, { flags: 0, to: [ah, to.qpn, QKEY], sge: [BYTE] });
  }
}, ["two processes in C", "this process and C"]);

test("Groups forget members that were killed", async (a, b) => {
  const group = "::ffff:224.7.7.7";
  for (let i = 0; i < 70; i++) {
    const killed = await startC();
    await open(killed);
    const { qp } = await datagrams(killed);
    assertEquals(await killed.do("join", qp, group), "");
    await killed.kill();
  }
  const [from, to] = [await datagrams(a), await datagrams(b)];
  assertEquals(await b.do("join", to.qp, group), "");
  const ah = await a.number("ah", 1, 1, group);
  await b.recv(to.qp, 1, [0, 0, 64]);
  await a.send(from.qp, { to: [ah, 0xff_ffff, QKEY], sge: [BYTE] });
  assertEquals((await b.wait(to.cq))[0]!.byteLen, GRH + 1);
  await b.do("leave", to.qp, group);
}, ["two processes in C"]);

test("Hosts have addresses of their own", async (a) => {
  await using b = await victim({ IBVERBS_SHM_HOST: "7" });
  assertEquals(await b.do("gid", 2, 1), "::ffff:10.0.1.7");
  const [one, other] = await connect(a, b);
  await b.recv(other.qp, 1, BYTE);
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals((await a.wait(one.cq))[0]!.status, "SUCCESS");
  const [from, to] = [await datagrams(a), await datagrams(b)];
  await b.recv(to.qp, 1, [0, 0, 64]);
  // The first one is that of this end.
  for (const gid of [await a.do("gid", 1, 1), await b.do("gid", 1, 1)]) {
    const ah = await a.number("ah", 1, 1, gid);
    await a.send(from.qp, { imm: 1, to: [ah, to.qpn, QKEY], sge: [[0, 0, gid.length]] });
  }
  const [received] = await b.wait(to.cq);
  assertEquals(received!.byteLen, GRH + "::ffff:10.0.0.7".length);
  assertEquals(await b.do("bytes", 0, 32, 8), "0a0000010a000007");
}, ["one process"]);

test("Threads share queue pairs and completion queues", async (_, b) => {
  const [threads, count, pairs, wr] = [4, 40_000, 2, 512];
  const cq = await b.cq(4096);
  for (let pair = 0; pair < pairs; pair++) {
    const [, { qp }] = await connect(b, b, { cq, wr });
    for (let i = 0; i < wr; i++) await b.recv(qp, i, [0, 64, 64]);
  }
  assertEquals(await b.do("threads", threads, count, pairs), "");
  assertEquals(await b.poll(cq), []);
  // All receives are there again, and no more.
  assertEquals(await b.recv(1, 0, BYTE), "! ENOMEM");
  await b.send(0, { sge: [BYTE] });
  assertEquals((await b.wait(cq, 2)).map(({ status }) => status), ["SUCCESS", "SUCCESS"]);
}, ["two processes in C"]);

test("What is on its way when a queue is armed makes an event", async (a, b) => {
  await using late = await victim({ IBVERBS_SHM_DELAY_NS: "1000000000" });
  const cq = await a.cq(64, true);
  const link = async (from: End) => {
    const [one, other] = [await half(from), await half(a, { cq })];
    await connectTo(from, one, await a.do("gid", 1, 1), other.qpn);
    await connectTo(a, other, await from.do("gid", 1, 1), one.qpn);
    for (const wrId of [1, 2]) await a.recv(other.qp, wrId, BYTE);
    return one.qp;
  };
  const [fast, slow] = [await link(b), await link(late)];
  // The first one can be seen.
  await b.send(fast, { sge: [BYTE] });
  await late.send(slow, { sge: [BYTE] });
  await a.do("arm", cq, 0);
  assertEquals(await a.do("event"), `${cq}`);
  assertEquals((await a.wait(cq, 2)).length, 2);
  await late.send(slow, { sge: [BYTE] });
  await a.do("arm", cq, 1);
  assertEquals(await a.do("event"), "-1");
}, ["one process"]);
