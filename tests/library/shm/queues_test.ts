// Queues of the device of native speed: shared receives, events of completions, asynchronous events, states and numbers.

import { assertEquals } from "@std/assert";
import { EventType, QpState, QpType, SendFlags } from "../../../mod.ts";
import {
  ALONE,
  connect,
  connectTo,
  datagrams,
  type End,
  eventually,
  half,
  type Link,
  QKEY,
  test,
} from "./ends.ts";

const { SIGNALED, SOLICITED } = SendFlags;
const BYTE = [0, 0, 1] as const;

/** Receives of a shared queue, by number, from `first` on. */
async function fillSrq(end: End, srq: number, count: number, first = 0): Promise<void> {
  for (let i = 0; i < count; i++) {
    assertEquals(await end.do("srqrecv", srq, first + i, ...[0, 64 * i, 64]), "");
  }
}

/** Two connections whose second ends share a receive queue. */
async function sharing(a: End, b: End, maxWr: number, limit = 0): Promise<[Link, Link][]> {
  const srq = await b.number("srq", maxWr, limit);
  const pairs: [Link, Link][] = [];
  for (let i = 0; i < 2; i++) {
    const [one, other] = [await half(a), await half(b, { srq })];
    await connectTo(a, one, await b.do("gid", 1, 1), other.qpn);
    await connectTo(b, other, await a.do("gid", 1, 1), one.qpn);
    pairs.push([one, other]);
  }
  return pairs;
}

test("Queue pairs share receives in the order in which these were posted", async (a, b) => {
  const pairs = await sharing(a, b, 4);
  await fillSrq(b, 0, 4);
  assertEquals(await b.do("srqrecv", 0, 9, ...BYTE), "! ENOMEM");
  for (const at of [1, 0, 0, 1]) await a.send(pairs[at]![0].qp, { sge: [BYTE] });
  for (const [at, expected] of [[1, 2], [0, 3]].entries()) {
    assertEquals((await b.wait(pairs[at]![1].cq, 2)).map(({ wrId }) => wrId), expected);
  }
  // There is room again, and nobody has waited for it.
  await fillSrq(b, 0, 4, 4);
  await a.send(pairs[0]![0].qp, { sge: [BYTE] });
  assertEquals((await b.wait(pairs[0]![1].cq))[0]!.wrId, 4);
});

test("A send waits for a shared receive, and a datagram does not", async (a, b) => {
  const [[one, other]] = await sharing(a, b, 4) as [[Link, Link]];
  const from = await datagrams(a);
  const to = await datagrams(b, { srq: 0 });
  const ah = await a.number("ah", 1, 1, await b.do("gid", 1, 1));
  await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [BYTE] });
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals([(await a.wait(from.cq)).length, await a.poll(one.cq)], [1, []]);
  await fillSrq(b, 0, 2);
  assertEquals([(await a.wait(one.cq)).length, (await b.wait(other.cq)).length], [1, 1]);
  assertEquals(await b.poll(to.cq), []);
  await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [BYTE] });
  assertEquals((await b.wait(to.cq))[0]!.byteLen, 41);
});

test("An event tells once that a shared queue is below its limit", async (a, b) => {
  const [[one]] = await sharing(a, b, 8, 2) as [[Link, Link]];
  await fillSrq(b, 0, 4);
  for (let i = 0; i < 2; i++) await a.send(one.qp, { sge: [BYTE] });
  await a.wait(one.cq, 2);
  assertEquals(await b.do("async"), "-1");
  for (let i = 0; i < 2; i++) await a.send(one.qp, { sge: [BYTE] });
  assertEquals(await b.asyncEvent(), `${EventType.SRQ_LIMIT_REACHED} 0`);
  assertEquals(await b.do("async"), "-1");
});

test(
  "A queue pair that fails has taken its last receive of a shared queue, which others go on using",
  async (a, b) => {
    const [[, broken], [one, other]] = await sharing(a, b, 8) as [[Link, Link], [Link, Link]];
    await fillSrq(b, 0, 2);
    for (let i = 0; i < 2; i++) await b.do("modify", broken.qp, QpState.ERR);
    assertEquals(await b.asyncEvent(), `${EventType.QP_LAST_WQE_REACHED} ${broken.qp}`);
    assertEquals([await b.do("async"), await b.poll(broken.cq)], ["-1", []]);
    await a.send(one.qp, { sge: [BYTE] });
    assertEquals((await b.wait(other.cq))[0]!.wrId, 0);
  },
);

test("A queue pair that ends gives a shared queue its room back", async (a, b) => {
  const [[one, other]] = await sharing(a, b, 2) as [[Link, Link]];
  for (let round = 0; round < 3; round++) {
    await fillSrq(b, 0, 2);
    for (let i = 0; i < 2; i++) await a.send(one.qp, { sge: [BYTE] });
    await a.wait(one.cq, 2);
  }
  await b.do("destroy", other.qp);
  assertEquals((await b.poll(other.cq)).length, 6);
  await fillSrq(b, 0, 2);
});

test("An armed queue reports one completion, and again when it is armed again", async (a, b) => {
  const [one, other] = await connect(a, b, { hasChannel: true });
  for (let i = 0; i < 8; i++) await b.recv(other.qp, i, BYTE);
  const send = () => a.send(one.qp, { flags: 0, sge: [BYTE] });
  await send();
  await b.wait(other.cq);
  assertEquals(await b.do("event"), "-1");
  await b.do("arm", other.cq, 0);
  assertEquals(await b.do("event"), "-1");
  await send();
  await send();
  assertEquals([await b.do("event"), await b.do("event")], [`${other.cq}`, "-1"]);
  await b.wait(other.cq, 2);
  await b.do("arm", other.cq, 0);
  await send();
  assertEquals(await b.do("event"), `${other.cq}`);
});

test("A queue armed for solicited completions reports these and errors", async (a, b) => {
  const [one, other] = await connect(a, b, { hasChannel: true });
  for (let i = 0; i < 8; i++) await b.recv(other.qp, i, BYTE);
  const arm = (solicited: number) => b.do("arm", other.cq, solicited);
  await arm(1);
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals(await b.do("event"), "-1");
  await a.send(one.qp, { flags: SIGNALED | SOLICITED, sge: [BYTE] });
  assertEquals(await b.do("event"), `${other.cq}`);
  await b.wait(other.cq, 2);
  // Who wants all is not silenced by who wants less.
  for (const solicited of [0, 1]) await arm(solicited);
  await a.send(one.qp, { sge: [BYTE] });
  assertEquals(await b.do("event"), `${other.cq}`);
  await b.wait(other.cq);
  await arm(1);
  await b.do("modify", other.qp, QpState.ERR);
  assertEquals(await b.do("event"), `${other.cq}`);
});

test("Several queues share a channel, and each event names its queue", async (a, b) => {
  const pairs: [Link, Link][] = [];
  for (let i = 0; i < 3; i++) pairs.push(await connect(a, b, { hasChannel: true }));
  for (const [, { qp, cq }] of pairs) {
    await b.recv(qp, 1, BYTE);
    await b.do("arm", cq, 0);
  }
  const events = [];
  for (const at of [2, 0, 1]) {
    await a.send(pairs[at]![0].qp, { sge: [BYTE] });
    events.push(await b.number("event"));
  }
  assertEquals(events, [2, 0, 1].map((at) => pairs[at]![1].cq));
});

test("No event is lost between two that wait for each other", async (a, b) => {
  const [one, other] = await connect(a, b, { hasChannel: true });
  for (const [end, { qp }] of [[a, one], [b, other]] as const) {
    for (let i = 0; i < 16; i++) await end.recv(qp, i, [0, 0, 64]);
  }
  const count = 3000;
  const answers = [a.do("play", one.qp, one.cq, count), b.do("serve", other.qp, other.cq, count)];
  assertEquals(await Promise.all(answers), ["", ""]);
});

test("A queue without room for a completion reports it once", async (a, b) => {
  const [one, other] = [await half(a), await half(b, { cqe: 4 })];
  await connectTo(a, one, await b.do("gid", 1, 1), other.qpn);
  await connectTo(b, other, await a.do("gid", 1, 1), one.qpn);
  for (let i = 0; i < 8; i++) {
    await b.recv(other.qp, i, BYTE);
    await a.send(one.qp, { sge: [BYTE] });
  }
  await a.wait(one.cq, 8);
  assertEquals(await b.asyncEvent(), `${EventType.CQ_ERR} ${other.cq}`);
  assertEquals([await b.do("async"), (await b.poll(other.cq)).length], ["-1", 4]);
});

test("ERR ends all that is posted, and what is posted later", async (a, b) => {
  const [one, other] = await connect(a, b);
  for (const wrId of [1, 2]) await a.recv(one.qp, wrId, BYTE);
  // Nobody receives these.
  for (const wrId of [3, 4]) await a.send(one.qp, { wrId, flags: 0 });
  await a.do("modify", one.qp, QpState.ERR);
  const flushed = async (count: number) =>
    (await a.wait(one.cq, count)).map(({ wrId, status }) => `${wrId} ${status}`).sort();
  assertEquals(await flushed(4), [1, 2, 3, 4].map((wrId) => `${wrId} WR_FLUSH_ERR`));
  await b.recv(other.qp, 7, BYTE);
  await a.recv(one.qp, 5, BYTE);
  await a.send(one.qp, { wrId: 6 });
  assertEquals(await flushed(2), ["5 WR_FLUSH_ERR", "6 WR_FLUSH_ERR"]);
  assertEquals(await b.poll(other.cq), []);
  await b.send(other.qp);
  assertEquals((await b.wait(other.cq))[0]!.status, "RETRY_EXC_ERR");
});

test("RESET forgets all that is posted, and the queue pair can be connected anew", async (a, b) => {
  const [one, other] = await connect(a, b, { wr: 4 });
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) {
      assertEquals([await a.recv(one.qp, i, BYTE), await a.send(one.qp, { wrId: i })], ["", ""]);
    }
    assertEquals(await a.send(one.qp), "! ENOMEM");
    await a.do("modify", one.qp, QpState.RESET);
    assertEquals([await a.poll(one.cq), await a.state(one.qp)], [[], "RESET"]);
    assertEquals(await a.recv(one.qp, 1, BYTE), "! EINVAL");
    assertEquals(await a.send(one.qp), "! EINVAL");
    await a.do("init", one.qp, 1, 0);
    await connectTo(a, one, await b.do("gid", 1, 1), other.qpn);
  }
  await a.recv(one.qp, 7, BYTE);
  await b.send(other.qp, { sge: [BYTE] });
  assertEquals((await a.wait(one.cq))[0]!.wrId, 7);
  await b.wait(other.cq);
});

test("Completions of before a reset make no room for what is posted after it", async (a, b) => {
  const [one, other] = await connect(a, b, { wr: 4 });
  for (let i = 0; i < 4; i++) {
    await b.recv(other.qp, i, BYTE);
    await a.send(one.qp, { sge: [BYTE] });
  }
  for (const [end, { qp, qpn }] of [[a, one], [b, other]] as const) {
    await end.do("modify", qp, QpState.RESET);
    await end.do("init", qp, 1, 0);
    const peer = qpn === one.qpn ? other : one;
    await connectTo(end, { ...peer, qp }, await end.do("gid", 1, 1), peer.qpn);
  }
  for (let i = 0; i < 4; i++) await b.recv(other.qp, 10 + i, BYTE);
  assertEquals(await a.send(one.qp), "! ENOMEM");
  assertEquals([(await b.poll(other.cq)).length, (await a.poll(one.cq)).length], [4, 4]);
  assertEquals(await b.recv(other.qp, 9, BYTE), "! ENOMEM");
  for (let i = 0; i < 4; i++) await a.send(one.qp, { sge: [BYTE] });
  assertEquals((await b.wait(other.cq, 4)).map(({ wrId }) => wrId), [10, 11, 12, 13]);
});

test("Before RTS nothing is sent, and before RTR nothing is received", async (a, b) => {
  const [one, other] = [await half(a), await half(b)];
  assertEquals(await a.send(one.qp), "! EINVAL");
  await a.do("rtr", one.qp, 1, 1, await b.do("gid", 1, 1), other.qpn, 1);
  assertEquals(await a.send(one.qp), "! EINVAL");
  assertEquals([await a.state(one.qp), await b.state(other.qp)], ["RTR", "INIT"]);
  await b.recv(other.qp, 1, BYTE);
  assertEquals(await b.poll(other.cq), []);
});

test("The completions of a queue pair that has ended harm nobody", async (a, b) => {
  const [one, other] = await connect(a, b);
  await b.recv(other.qp, 1, BYTE);
  await a.send(one.qp, { sge: [BYTE] });
  await a.do("destroy", one.qp);
  await b.do("destroy", other.qp);
  // Objects that may have the memory of those.
  for (const end of [a, b]) for (let i = 0; i < 20; i++) await end.mr(64, 0);
  assertEquals([(await a.wait(one.cq)).length, (await b.wait(other.cq)).length], [1, 1]);
});

test("A number is that of one queue pair at a time", async (a, b) => {
  const cq = await a.cq(1);
  const numbers = new Set<number>();
  for (let i = 0; i < 200; i++) {
    const { qp, qpn } = await a.qp(cq, { wr: 1 });
    numbers.add(qpn);
    if (i % 2 === 0) await a.do("destroy", qp);
  }
  for (const end of [a, b]) {
    const { qpn } = await end.qp(await end.cq(1));
    assertEquals(numbers.has(qpn), false);
  }
  assertEquals(numbers.size, 200);
});

test("There are two ports, each with addresses of its own", async (a, b) => {
  for (const end of [a, b]) {
    assertEquals(await end.number("ports"), 2);
    const gids = [];
    for (const port of [1, 2]) {
      for (const index of [0, 1, 2]) gids.push(await end.do("gid", port, index));
    }
    assertEquals(gids, [
      ...["fe80::ff:fe00:1", "::ffff:10.0.0.1", "fd00::1"],
      ...["fe80::ff:fe00:101", "::ffff:10.0.1.1", "fd00::101"],
    ]);
  }
});

test("Queues for which there is no room are refused, and harm nobody", async (a) => {
  const cq = await a.cq(1);
  const most = 0x7fff_ffff;
  assertEquals(await a.do("cq", most, 0), "! ENOMEM");
  assertEquals(await a.do("srq", most, 0), "! ENOMEM");
  assertEquals(await a.do("qp", QpType.RC, cq, "-", most, 0), "! ENOMEM");
  assertEquals((await a.qp(cq)).qp, 0);
}, ALONE);

test("A queue serves a thousand queue pairs", async (a, b) => {
  const count = 1000;
  const cq = await b.cq(4096);
  const from = await datagrams(a, { wr: 4000, cqe: 4096 });
  const ah = await a.number("ah", 1, 1, await b.do("gid", 1, 1));
  const numbers: number[] = [];
  for (let i = 0; i < count; i++) {
    const { qp, qpn } = await b.qp(cq, { type: "UD", wr: 1 });
    await b.do("init", qp, 1, QKEY);
    await b.do("rtr", qp);
    await b.recv(qp, i, [0, 0, 64]);
    numbers.push(qpn);
  }
  for (const qpn of numbers) await a.send(from.qp, { flags: 0, to: [ah, qpn, QKEY], sge: [BYTE] });
  const done = await b.wait(cq, count);
  assertEquals(done.map(({ qpNum }) => qpNum), numbers);
  assertEquals(done.map(({ wrId }) => wrId), numbers.map((_, i) => i));
});

test("Queue pairs fail by the thousand although nobody reads their events", async (_, b) => {
  const srq = await b.number("srq", 1, 0);
  const cq = await b.cq(1);
  for (let i = 0; i < 5; i++) {
    const { qp } = await b.qp(cq, { srq });
    for (let round = 0; round < 1000; round++) {
      await b.do("modify", qp, QpState.ERR);
      await b.do("modify", qp, QpState.RESET);
    }
  }
  let events = 0;
  await eventually("events", async () => {
    events += await b.do("async") === "-1" ? 0 : 1;
    while (await b.do("async") !== "-1") events++;
    return events === 5000;
  });
}, ALONE);
