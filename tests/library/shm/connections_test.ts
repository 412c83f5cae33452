// Reliable connections on the device of native speed, between all kinds of ends.

import { assertEquals, assertMatch } from "@std/assert";
import { AccessFlags, EventType, SendFlags } from "../../../mod.ts";
import {
  ALL,
  connect,
  connectTo,
  type End,
  half,
  type Link,
  type Place,
  type Send,
  test,
} from "./ends.ts";

const { REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlags;
const { INLINE, SIGNALED } = SendFlags;
const MIB = 1 << 20;
const WORD: Place = [0, 0, 8];
const SIZES = [0, 1, 255, 256, 257, 4096, 4097, 65536, MIB];

async function statuses(end: End, cq: number, count = 1): Promise<string[]> {
  return (await end.wait(cq, count)).map(({ status }) => status);
}

/** Several parts of a region that lie apart, with as many bytes in all. */
function scattered(length: number): Place[] {
  const part = Math.floor(length / 3);
  return [[0, 0, part], [0, 2 * MIB, 0], [0, 2 * MIB, part], [0, MIB, length - 2 * part]];
}

/** Moves the bytes of scattered places together, and checks them. */
async function checkScattered(end: End, length: number): Promise<void> {
  const [loop, back] = await connect(end, end);
  await end.recv(back.qp, 0, [0, 3 * MIB, length]);
  await end.send(loop.qp, { sge: scattered(length) });
  assertEquals(await statuses(end, loop.cq), ["SUCCESS"]);
  await end.wait(back.cq);
  assertEquals(await end.number("check", 0, 3 * MIB, length, 3), -1);
}

for (const port of [1, 2]) {
  test(`Messages of all lengths arrive whole, by port ${port}`, async (a, b) => {
    const [one, other] = await connect(a, b, { port });
    for (const length of SIZES) {
      await a.do("fill", 0, 0, length, 3);
      await b.do("fill", 0, MIB, length + 1, 99);
      await b.recv(other.qp, 5, [0, MIB, length + 1]);
      await a.send(one.qp, { wrId: 6, sge: [[0, 0, length]] });
      const common = { status: "SUCCESS", opcode: "RECV" };
      assertEquals(await b.wait(other.cq), [{
        ...{ wrId: 5, ...common, qpNum: other.qpn, srcQp: one.qpn },
        ...{ byteLen: length, hasGrh: false },
      }]);
      assertEquals((await a.wait(one.cq)).map(({ opcode, wrId }) => [opcode, wrId]), [["SEND", 6]]);
      assertEquals(await b.number("check", 0, MIB, length, 3), -1);
      // The byte behind the message is what it was.
      const behind = (length * 7 + (length >> 8) + 99) & 0xff;
      assertEquals(parseInt(await b.do("bytes", 0, MIB + length, 1), 16), behind);
    }
  });
}

test("Messages are sent from several places, and received into several", async (a, b) => {
  const [one, other] = await connect(a, b);
  for (const length of [7, 300, 5000, 100_000]) {
    await a.do("fill", 0, 0, length, 3);
    await b.recv(other.qp, 1, ...scattered(length));
    const half = length >> 1;
    await a.send(one.qp, { sge: [[0, 0, half], [0, half, 0], [0, half, length - half]] });
    assertEquals((await b.wait(other.cq))[0]!.byteLen, length);
    await a.wait(one.cq);
    await checkScattered(b, length);
  }
});

test(
  "Inline data may change once it is posted, and needs no region that the device may read",
  async (a, b) => {
    const [one, other] = await connect(a, b);
    await a.do("fill", 0, 0, 200, 3);
    // Nobody receives yet.
    await a.send(one.qp, { flags: SIGNALED | INLINE, sge: [[0, 0, 100], [0, 100, 100]] });
    await a.do("fill", 0, 0, 200, 9);
    await b.recv(other.qp, 1, [0, 0, 200]);
    assertEquals([await statuses(b, other.cq), await statuses(a, one.cq)], [["SUCCESS"], [
      "SUCCESS",
    ]]);
    assertEquals(await b.number("check", 0, 0, 200, 3), -1);
    assertMatch(await a.send(one.qp, { flags: INLINE, sge: [[0, 0, 257]] }), /^! EINVAL/);
  },
);

test("Immediate data comes with a send, and with a write that ends a receive", async (a, b) => {
  const [one, other] = await connect(a, b);
  const { addr, rkey } = await b.mr(4096, ALL);
  await a.do("fill", 0, 0, 300, 3);
  for (const wrId of [1, 2]) await b.recv(other.qp, wrId, [0, 0, 300]);
  await a.send(one.qp, { opcode: "SEND_WITH_IMM", imm: 0xfedcba98, sge: [[0, 0, 10]] });
  const written = { to: [addr + 8n, rkey], sge: [[0, 0, 300]] } as const;
  await a.send(one.qp, { opcode: "RDMA_WRITE_WITH_IMM", imm: 7, ...written });
  const received = await b.wait(other.cq, 2);
  assertEquals(received.map(({ opcode, imm, byteLen, wrId }) => [opcode, imm, byteLen, wrId]), [
    ["RECV", 0xfedcba98, 10, 1],
    ["RECV_RDMA_WITH_IMM", 7, 300, 2],
  ]);
  assertEquals(await b.number("check", 1, 8, 300, 3), -1);
  assertEquals((await a.wait(one.cq, 2)).map(({ opcode }) => opcode), ["SEND", "RDMA_WRITE"]);
});

test("A write with immediate data waits for a receive before it writes", async (a, b) => {
  const [one, other] = await connect(a, b);
  const { addr, rkey } = await b.mr(64, ALL);
  await a.do("fill", 0, 0, 64, 3);
  const request = { opcode: "RDMA_WRITE_WITH_IMM", to: [addr, rkey], sge: [[0, 0, 64]] } as const;
  await a.send(one.qp, request);
  assertEquals([await a.poll(one.cq), await b.do("bytes", 1, 0, 64)], [[], "00".repeat(64)]);
  await b.recv(other.qp, 1);
  assertEquals((await b.wait(other.cq))[0]!.byteLen, 64);
  assertEquals(await b.number("check", 1, 0, 64, 3), -1);
  await a.wait(one.cq);
});

test("A write and a read move bytes of any number without the peer's part", async (a, b) => {
  const [one, other] = await connect(a, b);
  const { addr, rkey } = await b.mr(2 * MIB, ALL);
  for (const length of SIZES) {
    await a.do("fill", 0, 0, length, length);
    const to = [addr + 5n, rkey];
    await a.send(one.qp, { opcode: "RDMA_WRITE", to, sge: [[0, 0, length]] });
    assertEquals(await statuses(a, one.cq), ["SUCCESS"]);
    assertEquals(await b.number("check", 1, 5, length, length), -1);
    const middle = length >> 1;
    const sge: Place[] = [[0, MIB, middle], [0, MIB + middle, length - middle]];
    await a.send(one.qp, { opcode: "RDMA_READ", to, sge });
    assertEquals((await a.wait(one.cq)).map(({ opcode, status }) => [opcode, status]), [
      ["RDMA_READ", "SUCCESS"],
    ]);
    assertEquals(await a.number("check", 0, MIB, length, length), -1);
  }
  assertEquals(await b.poll(other.cq), []);
});

/** The word at the start of a region, little-endian. */
async function word(end: End, mr: number): Promise<bigint> {
  const bytes = Uint8Array.fromHex(await end.do("bytes", mr, 0, 8));
  return new DataView(bytes.buffer).getBigUint64(0, true);
}

test("Atomics change a word, and give what it was", async (a, b) => {
  const [one] = await connect(a, b);
  const { addr, rkey } = await b.mr(64, ALL);
  const rows = [
    ["ATOMIC_FETCH_AND_ADD", 5n, 0n, 5n],
    ["ATOMIC_FETCH_AND_ADD", 2n ** 64n - 1n, 0n, 4n],
    ["ATOMIC_CMP_AND_SWP", 3n, 77n, 4n],
    ["ATOMIC_CMP_AND_SWP", 4n, 1n << 40n, 1n << 40n],
  ] as const;
  let before = 0n;
  for (const [opcode, first, second, after] of rows) {
    await a.send(one.qp, { opcode, to: [addr, rkey, first, second], sge: [[0, 0, 8]] });
    const expected = opcode === "ATOMIC_CMP_AND_SWP" ? "COMP_SWAP" : "FETCH_ADD";
    assertEquals((await a.wait(one.cq))[0]!.opcode, expected);
    assertEquals([await word(a, 0), await word(b, 1)], [before, after]);
    before = after;
  }
});

test("Atomics of several processes add up", async (a, b) => {
  const { addr, rkey } = await b.mr(64, ALL);
  const [one] = await connect(a, b);
  const [two] = await connect(b, b);
  // Within one process it is ten times faster: both take about as long.
  const [there, here] = [20_000, 200_000];
  const add = (end: End, { qp, cq }: Link, count: number) =>
    end.do("add", qp, cq, count, addr, rkey);
  assertEquals(await Promise.all([add(a, one, there), add(b, two, here)]), ["", ""]);
  assertEquals(await word(b, 1), BigInt(there + here));
}, ["two processes in C"]);

test(
  "Requests complete in order, and those that are not signaled end with the next one",
  async (a, b) => {
    const [one, other] = await connect(a, b, { wr: 8 });
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 8; i++) {
        await b.recv(other.qp, i, [0, 0, 8]);
        assertEquals(await a.send(one.qp, { wrId: i, flags: i % 4 === 3 ? SIGNALED : 0 }), "");
      }
      assertEquals(await a.send(one.qp), "! ENOMEM");
      assertEquals((await a.wait(one.cq, 2)).map(({ wrId }) => wrId), [3, 7]);
      assertEquals((await b.wait(other.cq, 8)).map(({ wrId }) => wrId), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    const [all] = await connect(a, b, { sqSigAll: true });
    await a.send(all.qp, { flags: 0, opcode: "RDMA_WRITE", to: [0, 0] });
    assertEquals(await statuses(a, all.cq), ["SUCCESS"]);
  },
);

test("A queue takes no more requests than it was made for", async (a, b) => {
  const [one, other] = await connect(a, b, { wr: 4 });
  for (let i = 0; i < 4; i++) assertEquals(await b.recv(other.qp, i, [0, 0, 8]), "");
  assertEquals(await b.recv(other.qp, 4, [0, 0, 8]), "! ENOMEM");
  const five = Array.from({ length: 5 }, (): Place => [0, 0, 1]);
  assertEquals(await b.recv(other.qp, 4, ...five), "! EINVAL");
  assertEquals(await a.send(one.qp, { sge: five }), "! EINVAL");
  for (let i = 0; i < 4; i++) await a.send(one.qp, { wrId: i });
  assertEquals((await b.wait(other.cq, 4)).map(({ wrId }) => wrId), [0, 1, 2, 3]);
});

test("A send waits for a receive, and those behind it wait too", async (a, b) => {
  const [one, other] = await connect(a, b);
  const { addr, rkey } = await b.mr(64, ALL);
  await a.do("fill", 0, 0, 64, 3);
  await a.send(one.qp, { wrId: 1, sge: [[0, 0, 8]] });
  await a.send(one.qp, { wrId: 2, opcode: "RDMA_WRITE", to: [addr, rkey], sge: [[0, 0, 64]] });
  // Others, which wait less long, have given up meanwhile.
  for (let i = 0; i < 3; i++) {
    const [other] = await connect(a, b, { rnrRetry: 6 });
    await a.send(other.qp);
    assertEquals(await statuses(a, other.cq), ["RNR_RETRY_EXC_ERR"]);
  }
  assertEquals([await a.poll(one.cq), await b.number("check", 1, 1, 1, 4)], [[], 0]);
  await b.recv(other.qp, 5, [0, 0, 8]);
  assertEquals((await a.wait(one.cq, 2)).map(({ wrId, status }) => [wrId, status]), [
    [1, "SUCCESS"],
    [2, "SUCCESS"],
  ]);
  assertEquals([await statuses(b, other.cq), await b.number("check", 1, 0, 64, 3)], [
    ["SUCCESS"],
    -1,
  ]);
});

test("A send to a peer that never receives fails as often as rnrRetry says", async (a, b) => {
  for (const rnrRetry of [0, 2]) {
    const [one] = await connect(a, b, { rnrRetry });
    await a.send(one.qp, { wrId: 1 });
    await a.send(one.qp, { wrId: 2 });
    assertEquals(await statuses(a, one.cq, 2), ["RNR_RETRY_EXC_ERR", "WR_FLUSH_ERR"]);
    assertEquals(await a.state(one.qp), "ERR");
  }
});

test("A peer without receives is left alone as long as its timer says", async (a, b) => {
  // 0 stands for the longest time, 655 ms, and 1 for the shortest.
  const [slow] = await connect(a, b, { rnrRetry: 1, minRnrTimer: 0 });
  const [fast] = await connect(a, b, { rnrRetry: 1, minRnrTimer: 1 });
  await a.send(slow.qp);
  await a.send(fast.qp);
  assertEquals(await statuses(a, fast.cq), ["RNR_RETRY_EXC_ERR"]);
  assertEquals(await a.poll(slow.cq), []);
  assertEquals(await statuses(a, slow.cq), ["RNR_RETRY_EXC_ERR"]);
});

test("A peer that does not answer is tried as long as timeout says", async (a, b) => {
  // 268 ms and 8 us.
  const [slow, there] = await connect(a, b, { timeout: 16, retryCnt: 0 });
  const [fast, gone] = await connect(a, b, { timeout: 1, retryCnt: 2 });
  for (const { qp } of [there, gone]) await b.do("destroy", qp);
  await a.send(slow.qp);
  await a.send(fast.qp);
  assertEquals(await statuses(a, fast.cq), ["RETRY_EXC_ERR"]);
  assertEquals(await a.poll(slow.cq), []);
  assertEquals(await statuses(a, slow.cq), ["RETRY_EXC_ERR"]);
  assertEquals(await a.state(slow.qp), "ERR");
});

test("A send waits for a peer that is being set up", async (a, b) => {
  const [one, other] = [await half(a), await half(b)];
  await connectTo(a, one, await b.do("gid", 1, 1), other.qpn, { timeout: 0 });
  await b.recv(other.qp, 1, [0, 0, 8]);
  await a.send(one.qp, { sge: [[0, 0, 8]] });
  assertEquals(await a.poll(one.cq), []);
  await connectTo(b, other, await a.do("gid", 1, 1), one.qpn);
  assertEquals([await statuses(b, other.cq), await statuses(a, one.cq)], [["SUCCESS"], [
    "SUCCESS",
  ]]);
});

/** Peers that a queue pair is not connected with, by their addresses and numbers. */
const WRONG: Readonly<
  Record<string, (b: End, other: Link, back: [string, number]) => Promise<[string, number]>>
> = {
  "at another address": async (b, other) => [await b.do("gid", 2, 1), other.qpn],
  "at an address that nobody has": (_, other) => Promise.resolve(["::ffff:10.9.9.9", other.qpn]),
  "that is connected with another one": async (b) => {
    const [stranger] = await connect(b, b);
    await b.recv(stranger.qp, 1, WORD);
    return [await b.do("gid", 1, 1), stranger.qpn];
  },
  "of another type": async (b, _, back) => {
    const unreliable = await half(b, { type: "UC" });
    await connectTo(b, unreliable, ...back);
    await b.recv(unreliable.qp, 1, WORD);
    return [await b.do("gid", 1, 1), unreliable.qpn];
  },
};

for (const [which, peerOf] of Object.entries(WRONG)) {
  test(`A peer ${which} does not answer`, async (a, b) => {
    const [one, other] = [await half(a), await half(b)];
    const back: [string, number] = [await a.do("gid", 1, 1), one.qpn];
    await connectTo(b, other, ...back);
    await b.recv(other.qp, 1, WORD);
    await connectTo(a, one, ...await peerOf(b, other, back));
    await a.send(one.qp);
    assertEquals([await statuses(a, one.cq), await b.poll(other.cq)], [["RETRY_EXC_ERR"], []]);
  });
}

/** What a peer may not do, by the access of its queue pair and of its region, and the offset in that. */
const RIGHTS: readonly (readonly [Send["opcode"], qp: number, mr: number, offset: bigint])[] = [
  ["RDMA_WRITE", ALL & ~REMOTE_WRITE, ALL, 0n],
  ["RDMA_WRITE", ALL, ALL & ~REMOTE_WRITE, 0n],
  ["RDMA_WRITE_WITH_IMM", ALL, ALL & ~REMOTE_WRITE, 0n],
  ["RDMA_WRITE", ALL, ALL, 57n],
  ["RDMA_WRITE", ALL, ALL, -1n],
  ["RDMA_READ", ALL & ~REMOTE_READ, ALL, 0n],
  ["RDMA_READ", ALL, ALL & ~REMOTE_READ, 0n],
  ["RDMA_READ", ALL, ALL, 64n],
  ["ATOMIC_FETCH_AND_ADD", ALL & ~REMOTE_ATOMIC, ALL, 0n],
  ["ATOMIC_CMP_AND_SWP", ALL, ALL & ~REMOTE_ATOMIC, 0n],
  ["ATOMIC_FETCH_AND_ADD", ALL, ALL, 64n],
];

test("What a peer may not do fails at both ends, and leaves its memory alone", async (a, b) => {
  for (const [opcode, peerAccess, access, offset] of RIGHTS) {
    await b.do("open");
    await b.mr(4096, ALL);
    const { addr, rkey } = await b.mr(64, access);
    const [one, other] = await connect(a, b, { peerAccess });
    await a.do("fill", 0, 0, 8, 1);
    await b.recv(other.qp, 4, WORD);
    await a.send(one.qp, { opcode: opcode!, to: [addr + offset, rkey, 1, 2], sge: [WORD] });
    assertEquals(
      await statuses(a, one.cq),
      ["REM_ACCESS_ERR"],
      `${opcode} ${peerAccess} ${access} ${offset}`,
    );
    assertEquals(await statuses(b, other.cq), ["WR_FLUSH_ERR"]);
    assertEquals([await a.state(one.qp), await b.state(other.qp)], ["ERR", "ERR"]);
    assertEquals(await b.asyncEvent(), `${EventType.QP_ACCESS_ERR} ${other.qp}`);
    assertEquals(await b.do("bytes", 1, 0, 64), "00".repeat(64));
  }
});

test("A key is good for the region that has it, as long as there is one", async (a, b) => {
  const { addr, rkey } = await b.mr(64, ALL);
  const read = async (key: number) => {
    const [one] = await connect(a, b);
    await a.send(one.qp, { opcode: "RDMA_READ", to: [addr, key], sge: [WORD] });
    return await statuses(a, one.cq);
  };
  assertEquals(await read(rkey), ["SUCCESS"]);
  for (const key of [0, rkey - 1, rkey + 1, rkey + 256, 0xffff_ffff]) {
    assertEquals(await read(key), ["REM_ACCESS_ERR"]);
  }
  await b.do("dereg", 1);
  assertEquals(await read(rkey), ["REM_ACCESS_ERR"]);
});

test("Regions of another protection domain are out of reach", async (a, b) => {
  const [one] = await connect(a, b);
  await b.do("pd");
  const { addr, rkey } = await b.mr(64, ALL);
  await a.send(one.qp, { opcode: "RDMA_READ", to: [addr, rkey], sge: [WORD] });
  assertEquals(await statuses(a, one.cq), ["REM_ACCESS_ERR"]);
  const [two, receiver] = await connect(a, b);
  // The region of the first domain, and a queue pair of the second.
  await b.recv(receiver.qp, 1, WORD);
  await a.send(two.qp, { sge: [WORD] });
  assertEquals(await statuses(a, two.cq), ["REM_OP_ERR"]);
  assertEquals(await statuses(b, receiver.cq), ["LOC_PROT_ERR"]);
  await a.do("pd");
  const [three] = await connect(a, b);
  await a.send(three.qp, { sge: [WORD] });
  assertEquals(await statuses(a, three.cq), ["LOC_PROT_ERR"]);
});

test("Own memory needs rights as well", async (a, b) => {
  const { addr, rkey } = await b.mr(64, ALL);
  await a.mr(64, 0);
  const reads: Send[] = [
    { opcode: "RDMA_READ", to: [addr, rkey] },
    { opcode: "ATOMIC_FETCH_AND_ADD", to: [addr, rkey, 1] },
  ];
  for (const request of reads) {
    const [one] = await connect(a, b);
    await a.send(one.qp, { ...request, sge: [[1, 0, 8]] });
    assertEquals(await statuses(a, one.cq), ["LOC_PROT_ERR"]);
    assertEquals(await word(b, 1), 0n);
  }
  const [one, other] = await connect(b, a);
  await a.recv(other.qp, 1, [1, 0, 8]);
  await b.send(one.qp, { sge: [WORD] });
  assertEquals([await statuses(b, one.cq), await statuses(a, other.cq)], [["REM_OP_ERR"], [
    "LOC_PROT_ERR",
  ]]);
});

test("An atomic operation needs an address that is a multiple of 8", async (a, b) => {
  const { addr, rkey } = await b.mr(64, ALL);
  const [one] = await connect(a, b);
  const to = [addr + 4n, rkey, 1];
  // This library refuses it when it is posted.
  const answer = await a.send(one.qp, { opcode: "ATOMIC_FETCH_AND_ADD", to, sge: [WORD] });
  if (answer === "") assertEquals(await statuses(a, one.cq), ["REM_INV_REQ_ERR"]);
  assertEquals(await word(b, 1), 0n);
});

test("A message that is too long for its receive breaks both ends", async (a, b) => {
  for (const length of [9, 5000]) {
    const [one, other] = await connect(a, b);
    await b.do("fill", 0, 0, 16, 1);
    for (const wrId of [1, 2]) await b.recv(other.qp, wrId, [0, 0, 8]);
    await a.send(one.qp, { sge: [[0, 0, length]] });
    assertEquals(await statuses(a, one.cq), ["REM_INV_REQ_ERR"]);
    assertEquals(await statuses(b, other.cq, 2), ["LOC_LEN_ERR", "WR_FLUSH_ERR"]);
    assertEquals(await b.asyncEvent(), `${EventType.QP_REQ_ERR} ${other.qp}`);
  }
});

test(
  "An unreliable connection loses what nobody receives, and its sender does not notice",
  async (a, b) => {
    const [one, other] = await connect(a, b, { type: "UC" });
    const { addr, rkey } = await b.mr(64, ALL);
    await a.do("fill", 0, 0, 64, 3);
    await a.send(one.qp, { sge: [[0, 0, 1]] });
    await b.recv(other.qp, 1, [0, 0, 64]);
    await a.send(one.qp, { sge: [[0, 0, 2]] });
    await a.send(one.qp, { opcode: "RDMA_WRITE", to: [addr, rkey], sge: [[0, 0, 64]] });
    await a.send(one.qp, { opcode: "RDMA_WRITE", to: [addr, rkey + 256], sge: [[0, 0, 64]] });
    assertEquals(await statuses(a, one.cq, 4), Array(4).fill("SUCCESS"));
    assertEquals((await b.wait(other.cq)).map(({ byteLen }) => byteLen), [2]);
    assertEquals(await b.number("check", 1, 0, 64, 3), -1);
    assertMatch(
      await a.send(one.qp, { opcode: "RDMA_READ", to: [addr, rkey], sge: [WORD] }),
      /^! EINVAL/,
    );
  },
);

test("A connection needs an address with a GRH", async (a, b) => {
  const [one, other] = [await half(a), await half(b)];
  assertMatch(await a.do("rtr", one.qp, 1, 3, await b.do("gid", 1, 1), other.qpn, 1), /^! EINVAL/);
});
