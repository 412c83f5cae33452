// Processes on the network of the device of native speed: they end in the middle of what they do, and use many threads.

import { assertEquals } from "@std/assert";
import { SendFlags, WrOpcode } from "../../../mod.ts";
import {
  ALL,
  connect,
  datagrams,
  type End,
  GRH,
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
  await end.tell(`flood ${from.qp} 0 ${WrOpcode.SEND} 0 0 ${ah} ${qpn} ${QKEY} 0 0 0 4096`);
}

test("Locks of a process that was killed are taken over", async (a, b) => {
  const to = await datagrams(a, { cqe: 1 });
  const from = await datagrams(b);
  const ah = await b.number("ah", 1, 1, await a.do("gid", 1, 1));
  for (let round = 0; round < 10; round++) {
    const killed = await victim();
    await flood(killed, a, to.qpn);
    // Whatever it holds just then.
    for (let i = 0; i < 20; i++) {
      await a.recv(to.qp, 1, [0, 0, 4096 + GRH]);
      await a.poll(to.cq);
    }
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

test("Threads share a queue pair and a completion queue", async (_, b) => {
  const [one, other] = await connect(b, b, { wr: 512, cqe: 4096 });
  const [threads, count] = [4, 2000];
  const total = threads * count;
  for (let i = 0; i < 512; i++) await b.recv(other.qp, i, [0, 64, 64]);
  const [opposite, receiver] = [one, other].map(({ qp }) => qp);
  assertEquals(await b.do("threads", opposite!, one.cq, threads, count, receiver!, other.cq), "");
  assertEquals([await b.poll(one.cq), total], [[], 8000]);
  // The last receives are still there.
  assertEquals(await b.send(opposite!, { flags: SendFlags.SIGNALED, sge: [BYTE] }), "");
  assertEquals((await b.wait(one.cq)).length, 1);
}, ["two processes in C"]);
