// Options and addresses of connections, and the senders of datagrams.
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { Gid, Grh, WcFlags, type WorkCompletions } from "../../../mod.ts";
import { readRcAddress, toQpAddress } from "../../../net/rc/rc_address.ts";
import { checkRcOptions, RC_OPTIONS } from "../../../net/rc/rc_options.ts";
import { Datagrams } from "../../../net/ud/datagrams.ts";
import { PeerTable } from "../../../net/ud/peer_table.ts";
import type { Receiver } from "../../../net/ud/receiver.ts";
import { isMulticast } from "../../../net/ud/routes.ts";
import { attrOf, type LocalPort, readUdAddress } from "../../../net/ud/ud_address.ts";
import { readUdOptions } from "../../../net/ud/ud_options.ts";
import { UdPeer } from "../../../net/ud/ud_peer.ts";

/** Objects with any properties, as callers and peers have them. */
// deno-lint-ignore no-explicit-any
const any = (value: unknown): any => value;

type Limits = Readonly<Record<string, readonly [min: number, max: number, byDefault?: number]>>;

const [UINT16, UINT24, UINT32, INT32] = [0xffff, 0xff_ffff, 0xffff_ffff, 0x7fff_ffff];
const SAFE = Number.MAX_SAFE_INTEGER;
const UD = { transport: "ud", gid: "::ffff:10.0.0.1", lid: 1, qpn: 2, qkey: 3 } as const;
const RC = {
  ...{ transport: "rc" as const, gid: "::ffff:10.0.0.1", lid: 1, qpn: 2, psn: 3, mtu: 1024 },
  ...{ rdAtomic: 16, credits: 32, maxMessage: 4096 },
} as const;

/** What reads objects with numbers, and the numbers it takes. */
const READERS: Readonly<
  Record<string, readonly [read: (given: object) => object, base: object, limits: Limits]>
> = {
  checkRcOptions: [(given) => checkRcOptions(given), {}, {
    port: [1, 255, 1],
    gidIndex: [0, 255],
    credits: [1, 2 ** 15, 32],
    sendDepth: [1, 2 ** 15, 32],
    maxMessage: [8, 2 ** 24, 32768],
    timeout: [1, 31, 17],
    retryCnt: [0, 7, 6],
    keepAlive: [0, INT32, 1000],
    spin: [0, SAFE, 0],
    connectTimeout: [1, INT32, 5000],
  }],
  readUdOptions: [(given) => readUdOptions(any(given)), { qkey: 5 }, {
    port: [1, 255, 1],
    qkey: [0, UINT32, 5],
    gidIndex: [0, 255],
    recvDepth: [1, 2 ** 20, 512],
    sendDepth: [1, 2 ** 20, 128],
    maxQueued: [1, 2 ** 20, 512],
    maxPeers: [1, 2 ** 20, 1024],
    spin: [0, SAFE, 0],
  }],
  readUdAddress: [(given) => readUdAddress(any(given), undefined), UD, {
    lid: [0, UINT16, 1],
    qpn: [0, UINT24, 2],
    qkey: [0, UINT32, 3],
  }],
  readRcAddress: [(given) => readRcAddress(given), RC, {
    lid: [0, UINT16, 1],
    qpn: [0, UINT24, 2],
    psn: [0, UINT24, 3],
    mtu: [256, 4096, 1024],
    rdAtomic: [0, 255, 16],
    credits: [1, 2 ** 15, 32],
    maxMessage: [1, 2 ** 24, 4096],
  }],
};

for (const [name, [read, base, limits]] of Object.entries(READERS)) {
  Deno.test(`${name}() takes each number within its limits, and names it otherwise`, () => {
    for (const [key, [min, max, byDefault]] of Object.entries(limits)) {
      const valueOf = (given: object): unknown => any(read({ ...base, ...given }))[key];
      const values = [{}, { [key]: min }, { [key]: max }].map(valueOf);
      assertEquals(values, [byDefault, min, max]);
      for (const wrong of [min - 1, max + 1, min + 0.5, "1", null]) {
        const { message } = assertThrows(() => valueOf({ [key]: wrong }), Error, key);
        const reason = Number.isInteger(wrong)
          ? `it is not within ${min} to ${max}`
          : "it is not an integer";
        assertEquals(message.endsWith(reason), true, message);
      }
    }
  });
}

Deno.test("options have a device and a signal, and nothing unknown", () => {
  const { signal } = new AbortController();
  for (const name of ["checkRcOptions", "readUdOptions"]) {
    const [read, base] = READERS[name]!;
    const both = (given: object): unknown[] => {
      const { device, signal } = any(read({ ...base, ...given }));
      return [device, signal];
    };
    assertEquals(both({}), [undefined, undefined]);
    assertEquals(both({ device: "a", signal }), ["a", signal]);
    assertThrows(() => read({ ...base, device: 1 }), TypeError, "Cannot use device 1");
    assertThrows(() => read({ ...base, signal: 1 }), TypeError, "Cannot use signal 1");
  }
  assertThrows(() => readUdOptions(any({ qkey: 1, a: 2 })), TypeError, '"a"');
  assertEquals(RC_OPTIONS.toSorted(), Object.keys(checkRcOptions({})).toSorted());
});

Deno.test("readUdAddress() reads each property once, and gives the recent address if it is the same", () => {
  const recent = readUdAddress(UD, undefined);
  assertEquals(recent, { ...UD, ah: undefined });
  assertStrictEquals(readUdAddress({ ...UD }, recent), recent);
  const others = { gid: "::1", lid: 2, qpn: 3, qkey: 4 };
  for (const [key, value] of Object.entries(others)) {
    const other = { ...UD, [key]: value };
    assertEquals(readUdAddress(other, recent), { ...other, ah: undefined });
  }
  const wrong: [unknown, string][] = [
    [null, "it is not an object"],
    ["ud", "it is not an object"],
    [{ ...UD, transport: "rc" }, 'its transport is not "ud"'],
    [{ ...UD, gid: 1 }, "its gid is not a string"],
  ];
  for (const [address, reason] of wrong) {
    const { message } = assertThrows(() => readUdAddress(any(address), recent), TypeError);
    assertEquals(message, `Cannot use address: ${reason}`);
  }
});

Deno.test("readRcAddress() refuses what is no address, and toQpAddress() leaves out what a queue pair has not", () => {
  const wrong: [unknown, string][] = [
    [{ ...RC, transport: "ud" }, 'Its transport is not "rc"'],
    [{ ...RC, gid: 1 }, "Its gid is not a string"],
    [{ ...RC, a: 1 }, 'Cannot use address: there is no property "a"'],
    [7, "Cannot use address 7: it is not an object"],
  ];
  for (const [address, reason] of wrong) {
    const { message } = assertThrows(() => readRcAddress(address), Deno.errors.InvalidData);
    assertEquals(message, `Cannot connect: the address of the peer is not valid. ${reason}`);
  }
  assertEquals(readRcAddress({ ...RC, gid: "0:0::FFFF:10.0.0.1" }), RC);
  const { credits: _credits, maxMessage: _maxMessage, ...rest } = RC;
  assertEquals(toQpAddress(RC), { ...rest, transport: "RC", qkey: null });
});

Deno.test("attrOf() has a GRH where the port needs one, and for multicast", () => {
  const local = { port: 2, gidIndex: 3, needsGrh: true } as LocalPort;
  const grh = (gid: string) => ({ dgid: Gid.parse(gid), sgidIndex: 3, hopLimit: 64 });
  const noGrh = { ...local, needsGrh: false };
  assertEquals(attrOf(local, UD), { portNum: 2, dlid: 1, grh: grh(UD.gid) });
  assertEquals(attrOf(noGrh, UD), { portNum: 2, dlid: 1 });
  const group = attrOf(noGrh, { ...UD, gid: "ff0e::1" });
  assertEquals(group, { portNum: 2, dlid: 1, grh: grh("ff0e::1") });
});

Deno.test("isMulticast() knows groups of IPv6 and of IPv4", () => {
  const groups = ["ff0e::1", "::ffff:224.0.0.1", "::ffff:239.1.2.3"];
  const others = ["::ffff:240.0.0.1", "::ffff:10.0.0.1", "fe80::e000:1"];
  const all = [...groups, ...others];
  assertEquals(all.filter((gid) => isMulticast(Gid.parse(gid))), groups);
});

/** A completion as a batch tells it. */
interface Packet {
  readonly srcQp: number;
  readonly slid: number;
  readonly sl: number;
  readonly dlidPathBits: number;
  readonly wcFlags: number;
}

const PACKET: Packet = { srcQp: 7, slid: 1, sl: 2, dlidPathBits: 3, wcFlags: WcFlags.GRH };

function batchOf(packet: Packet): WorkCompletions {
  const methods = Object.entries(packet).map(([name, value]) => [name, () => value]);
  return any({ ...Object.fromEntries(methods), at: () => packet });
}

/** The memory of a datagram: a word before it, and a GRH with an IPv6 or IPv4 header and some bytes changed. */
function memoryOf(
  version: 4 | 6,
  changes: Readonly<Record<number, number>> = {},
): Uint32Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 + Grh.SIZE);
  for (let i = 0; i < Grh.SIZE; i++) bytes[4 + i] = i;
  bytes[4] = version === 6 ? 0x60 : 0;
  if (version === 4) bytes[4 + 20] = 0x45;
  for (const [offset, value] of Object.entries(changes)) bytes[4 + Number(offset)] = value;
  return new Uint32Array(bytes.buffer);
}

Deno.test("PeerTable gives the same sender for all bytes that do not tell senders apart", () => {
  const beforeIpv4 = Array.from({ length: 20 }, (_, i) => i);
  // The length of the payload; or the total length, the identification and the checksum.
  const unused = { 6: [4, 5], 4: [...beforeIpv4, 22, 23, 24, 25, 26, 27, 30, 31] };
  for (const version of [4, 6] as const) {
    const table = new PeerTable({}, 5, 1000);
    const peerOf = (changes: Record<number, number>, packet = PACKET): UdPeer =>
      table.get(batchOf(packet), 0, memoryOf(version, changes), 1);
    const known = peerOf({});
    const same: number[] = [];
    for (let offset = 0; offset < Grh.SIZE; offset++) {
      if (peerOf({ [offset]: 0xaa }) === known) same.push(offset);
    }
    assertEquals(same, unused[version]);
    for (const key of ["srcQp", "slid", "sl", "dlidPathBits"] as const) {
      assertEquals([key, peerOf({}, { ...PACKET, [key]: 9 }) === known], [key, false]);
    }
    assertStrictEquals(peerOf({}), known);
    assertStrictEquals(peerOf({}, { ...PACKET, wcFlags: WcFlags.GRH | WcFlags.WITH_IMM }), known);
  }
});

Deno.test("PeerTable looks at no GRH where there is none", () => {
  const table = new PeerTable({}, 5, 10);
  const packet = { ...PACKET, wcFlags: 0 };
  const known = table.get(batchOf(packet), 0, memoryOf(6), 1);
  assertStrictEquals(table.get(batchOf(packet), 0, memoryOf(4, { 30: 1 }), 1), known);
  assertEquals([known.gid, known.lid, known.qpn, known.qkey], ["::", 1, 7, 5]);
});

Deno.test("PeerTable forgets the oldest sender when there are too many", () => {
  const table = new PeerTable({}, 5, 2);
  const peerOf = (srcQp: number): UdPeer =>
    table.get(batchOf({ ...PACKET, srcQp }), 0, memoryOf(6), 1);
  const [one, two] = [peerOf(1), peerOf(2)];
  assertEquals([peerOf(1) === one, peerOf(2) === two], [true, true]);
  const three = peerOf(3);
  assertEquals([peerOf(2) === two, peerOf(3) === three, peerOf(1) === one], [true, true, false]);
});

Deno.test("UdPeer is of its owner, and keeps its handle for one version of the addresses", () => {
  const owner = {};
  const peer = new PeerTable(owner, 5, 2).get(batchOf(PACKET), 0, memoryOf(4), 1);
  assertEquals([UdPeer.isOf(owner, peer), UdPeer.isOf({}, peer)], [true, false]);
  assertEquals([UdPeer.isOf(owner, {}), UdPeer.isOf(owner, UD)], [false, false]);
  const grh = new Grh(new Uint8Array(memoryOf(4).buffer, 4));
  assertEquals([peer.gid, peer.transport], [grh.sgid.toString(), "ud"]);
  assertEquals([UdPeer.grh(peer).sgid, UdPeer.wc(peer)], [grh.sgid, any(PACKET)]);
  const ah = { disposed: false };
  assertStrictEquals(UdPeer.handle(peer, 0), undefined);
  UdPeer.setHandle(peer, any(ah), 3);
  assertEquals([UdPeer.handle(peer, 3), UdPeer.handle(peer, 2)], [any(ah), undefined]);
  ah.disposed = true;
  assertStrictEquals(UdPeer.handle(peer, 3), undefined);
});

/** An iterator over a receiver that has these results: what is there, what has to be waited for, and errors. */
function iterate(results: (string | Promise<string> | Error)[]): [Datagrams, AbortController] {
  const closed = new AbortController();
  const receiver = {
    receiveNow: () => {
      const [next] = results;
      if (next instanceof Promise) return undefined;
      results.shift();
      if (next instanceof Error) throw next;
      return next;
    },
    wait: () => results.shift(),
  };
  return [new Datagrams(any(receiver) as Receiver, closed.signal), closed];
}

Deno.test("Datagrams gives what is there and what comes, until it ends", async () => {
  const [datagrams] = iterate(["a", Promise.resolve("b"), "c", "d"]);
  const seen: unknown[] = [];
  for await (const datagram of datagrams) {
    seen.push(datagram);
    if (seen.length === 3) break;
  }
  assertEquals(seen, ["a", "b", "c"]);
  assertEquals(await datagrams.next(), { value: undefined, done: true });
});

Deno.test("Datagrams ends when the connection is closed, and with an error that came before", async () => {
  const end = { value: undefined, done: true as const };
  const later = Promise.withResolvers<string>();
  const [waiting, closing] = iterate([later.promise]);
  const next = waiting.next();
  closing.abort();
  later.reject(new Error("closed"));
  assertEquals([await next, await waiting.next()], [end, end]);
  for (const error of [new Error("broken"), Promise.reject(new Error("broken"))]) {
    const [failing] = iterate([error, "more"]);
    assertEquals(await failing.next().catch(({ message }) => message), "broken");
    assertEquals(await failing.next(), end);
  }
  const [closed, abort] = iterate([new Error("closed")]);
  abort.abort();
  assertEquals(await closed.next(), end);
});
