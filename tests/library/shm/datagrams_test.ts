// Datagrams on the device of native speed, between all kinds of ends.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { Gid, Grh, SendFlags } from "../../../mod.ts";
import { lost } from "../../provider/shm.ts";
import { datagrams, type End, GRH, type Link, QKEY, test } from "./ends.ts";

/** What a queue pair receives into, and where the bytes of a message are. */
const ROOM = [0, 0, 8192] as const;
const SIZES = [0, 1, 255, 256, 257, 4095, 4096];

/** Makes a queue pair at each end, and the handle by which the first one reaches the second. */
async function both(a: End, b: End, index = 1, port = 1): Promise<[Link, Link, number]> {
  const [from, to] = [await datagrams(a), await datagrams(b, { port })];
  return [from, to, await a.number("ah", 1, index, await b.do("gid", port, index))];
}

test("A datagram of any length arrives behind the header of its packet", async (a, b) => {
  const [from, to, ah] = await both(a, b);
  await a.do("fill", 0, 0, 4096, 5);
  for (const length of SIZES) {
    await b.recv(to.qp, 7, ROOM);
    const target = [ah, to.qpn, QKEY];
    await a.send(from.qp, { wrId: 8, to: target, sge: [[0, 0, length]] });
    const received = { opcode: "RECV", byteLen: length + GRH, srcQp: from.qpn, hasGrh: true };
    const common = { status: "SUCCESS" };
    assertEquals(await b.wait(to.cq), [{ wrId: 7, ...common, qpNum: to.qpn, ...received }]);
    assertEquals(await a.wait(from.cq), [{
      wrId: 8,
      ...common,
      qpNum: from.qpn,
      opcode: "SEND",
    }]);
    assertEquals(await b.number("check", 0, GRH, length, 5), -1);
  }
});

for (const [name, index] of [["link-local", 0], ["IPv4", 1], ["IPv6", 2]] as const) {
  test(`The header tells ${name} addresses of both ends`, async (a, b) => {
    const [from, to, ah] = await both(a, b, index);
    await b.recv(to.qp, 1, ROOM);
    await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [[0, 0, 3]] });
    await b.wait(to.cq);
    const bytes = Uint8Array.fromHex(await b.do("bytes", 0, 0, GRH));
    const grh = new Grh(bytes);
    const expected = [await a.do("gid", 1, index), await b.do("gid", 1, index)];
    assertEquals([grh.sgid, grh.dgid].map(String), expected.map((gid) => String(Gid.parse(gid))));
    const view = new DataView(bytes.buffer);
    // A base header and a datagram's, 3 bytes and one that pads them, and a checksum, behind those of UDP.
    const payload = 8 + 12 + 8 + 4 + 4;
    assertEquals(index === 1 ? view.getUint16(22) - 20 : view.getUint16(4), payload);
    if (index !== 1) return;
    let sum = 0;
    for (let at = 20; at < 40; at += 2) sum += view.getUint16(at);
    assertEquals((sum & 0xffff) + (sum >> 16), 0xffff);
  });
}

test("A datagram reaches the port that its address belongs to, and no other", async (a, b) => {
  const [from, to, ah] = await both(a, b, 1, 2);
  const wrong = await a.number("ah", 1, 1, await b.do("gid", 1, 1));
  for (const wrId of [1, 2]) await b.recv(to.qp, wrId, ROOM);
  const before = lost();
  await a.send(from.qp, { to: [wrong, to.qpn, QKEY], sge: [[0, 0, 1]] });
  await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [[0, 0, 2]] });
  assertEquals((await b.wait(to.cq)).map(({ byteLen }) => byteLen), [GRH + 2]);
  assertEquals([await a.wait(from.cq, 2).then((all) => all.length), lost() - before], [2, 1]);
});

/** Ways to send a datagram that nobody may receive, by its target. */
const LOST: Readonly<Record<string, (a: End, to: Link, ah: number) => Promise<number[]>>> = {
  "an address that no port has": async (a, to) => [
    await a.number("ah", 1, 1, "::ffff:10.9.9.9"),
    ...[to.qpn, QKEY],
  ],
  "the address of a group, and the number of a queue pair": async (a, to) => [
    await a.number("ah", 1, 1, "::ffff:224.0.0.9"),
    ...[to.qpn, QKEY],
  ],
  "another qkey": (_, to, ah) => Promise.resolve([ah, to.qpn, QKEY + 1]),
  "a number that no queue pair has": (_, to, ah) => Promise.resolve([ah, to.qpn + 9999, QKEY]),
};

for (const [what, targetOf] of Object.entries(LOST)) {
  test(`A datagram with ${what} is lost, and its sender is told nothing`, async (a, b) => {
    const [from, to, ah] = await both(a, b);
    for (const wrId of [1, 2]) await b.recv(to.qp, wrId, ROOM);
    const before = lost();
    await a.send(from.qp, { wrId: 3, to: await targetOf(a, to, ah), sge: [[0, 0, 1]] });
    await a.send(from.qp, { wrId: 4, to: [ah, to.qpn, QKEY], sge: [[0, 0, 2]] });
    assertEquals((await b.wait(to.cq)).map(({ wrId, byteLen }) => [wrId, byteLen]), [[1, 42]]);
    assertEquals((await a.wait(from.cq, 2)).map(({ status }) => status), ["SUCCESS", "SUCCESS"]);
    assertEquals(lost() - before, 1);
  });
}

test("A datagram is lost without a receive, and before the queue pair is ready", async (a, b) => {
  const [from, to, ah] = await both(a, b);
  const unready = await b.qp(to.cq, { type: "UD" });
  await b.do("init", unready.qp, 1, QKEY);
  await b.recv(unready.qp, 2, ROOM);
  const before = lost();
  for (const qpn of [to.qpn, unready.qpn]) {
    await a.send(from.qp, { to: [ah, qpn, QKEY], sge: [[0, 0, 1]] });
  }
  await a.wait(from.cq, 2);
  await b.recv(to.qp, 1, ROOM);
  assertEquals([await b.poll(to.cq), lost() - before], [[], 2]);
});

test(
  "The qkey of the sender is sent where the highest bit of the request's is set",
  async (a, b) => {
    const from = await datagrams(a, { qkey: 77 });
    const to = await datagrams(b, { qkey: 77 });
    const ah = await a.number("ah", 1, 1, await b.do("gid", 1, 1));
    await b.recv(to.qp, 1, ROOM);
    await a.send(from.qp, { to: [ah, to.qpn, 0x8000_0000], sge: [[0, 0, 1]] });
    assertEquals((await b.wait(to.cq))[0]!.byteLen, GRH + 1);
  },
);

test("An address handle needs a GRH, and an address to send from", async (a) => {
  assertStringIncludes(await a.do("ah", 1, 1), "! EINVAL");
  assertStringIncludes(await a.do("ah", 1, 3, "::ffff:10.0.0.1"), "! EINVAL");
});

test("A datagram with immediate data, one from several places, and one inline", async (a, b) => {
  const [from, to, ah] = await both(a, b);
  const target = [ah, to.qpn, QKEY];
  await a.do("fill", 0, 0, 100, 1);
  for (const wrId of [1, 2, 3]) {
    await b.recv(to.qp, wrId, [0, wrId * 8192, 30], [0, wrId * 8192 + 30, 999]);
  }
  const imm = 0x01020304;
  await a.send(from.qp, { opcode: "SEND_WITH_IMM", imm, to: target, sge: [[0, 0, 100]] });
  await a.send(from.qp, { to: target, sge: [[0, 0, 10], [0, 10, 0], [0, 10, 90]] });
  await a.send(from.qp, {
    flags: SendFlags.SIGNALED | SendFlags.INLINE,
    ...{ to: target, sge: [[0, 0, 100]] },
  });
  assertEquals((await b.wait(to.cq, 3)).map(({ imm, byteLen }) => [imm, byteLen]), [
    ...[[imm, 140], [undefined, 140], [undefined, 140]],
  ]);
  for (const wrId of [1, 2, 3]) {
    assertEquals(await b.number("check", 0, wrId * 8192 + 40, 100, 1), -1);
  }
});

test("A group's datagrams reach its members, until they leave", async (a, b) => {
  for (const [index, group] of [[1, "::ffff:224.1.2.3"], [2, "ff0e::1:2"]] as const) {
    const [from, to] = await both(a, b);
    const other = await datagrams(b);
    const ah = await a.number("ah", 1, index, group);
    const send = () => a.send(from.qp, { to: [ah, 0xff_ffff, QKEY], sge: [[0, 0, 9]] });
    for (const { qp } of [to, other]) {
      assertEquals(await b.do("join", qp, group), "");
      for (const wrId of [1, 2]) await b.recv(qp, wrId, ROOM);
    }
    await send();
    for (const { cq } of [to, other]) assertEquals((await b.wait(cq))[0]!.byteLen, GRH + 9);
    assertEquals(await b.do("leave", to.qp, group), "");
    await send();
    assertEquals([(await b.wait(other.cq)).length, (await b.poll(to.cq)).length], [1, 0]);
    assertEquals(await b.do("leave", other.qp, group), "");
    await send();
    assertEquals((await a.wait(from.cq, 3)).length, 3);
    assertEquals(await b.poll(other.cq), []);
  }
});

test("Groups are forgotten when all have left, however many there were", async (a, b) => {
  const [from, to] = await both(a, b);
  const other = await datagrams(b);
  // Both have the same last four bytes.
  const groups = ["ff0e::e000:909", "::ffff:224.0.9.9"] as const;
  for (let i = 0; i < 100; i++) {
    const group = `::ffff:224.9.9.${i}`;
    assertEquals([await b.do("join", to.qp, group), await b.do("leave", to.qp, group)], ["", ""]);
  }
  await b.do("join", other.qp, groups[0]);
  await b.do("join", to.qp, groups[1]);
  for (const { qp } of [to, other]) await b.recv(qp, 1, ROOM);
  const ah = await a.number("ah", 1, 1, groups[1]);
  await a.send(from.qp, { to: [ah, 0xff_ffff, QKEY], sge: [[0, 0, 9]] });
  assertEquals([(await b.wait(to.cq)).length, await b.poll(other.cq)], [1, []]);
  await b.do("leave", other.qp, groups[0]);
  await b.do("leave", to.qp, groups[1]);
});

test("A datagram that is too long for its receive breaks the receiver", async (a, b) => {
  const [from, to, ah] = await both(a, b);
  for (const wrId of [1, 2]) await b.recv(to.qp, wrId, [0, 0, GRH + 10]);
  await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [[0, 0, 11]] });
  const { qpn: qpNum } = to;
  assertEquals(await b.wait(to.cq, 2), [
    { wrId: 1, status: "LOC_LEN_ERR", qpNum },
    { wrId: 2, status: "WR_FLUSH_ERR", qpNum },
  ]);
  assertEquals([await b.state(to.qp), await a.state(from.qp)], ["ERR", "RTS"]);
  assertEquals((await a.wait(from.cq))[0]!.status, "SUCCESS");
});

test("A message longer than the MTU is no datagram", async (a, b) => {
  const [from, to, ah] = await both(a, b);
  await a.send(from.qp, { to: [ah, to.qpn, QKEY], sge: [[0, 0, 4097]] });
  // This library tells it when the request is posted.
  const statuses = (await a.poll(from.cq)).map(({ status }) => status);
  assertEquals(statuses.filter((status) => status !== "LOC_LEN_ERR"), []);
});
