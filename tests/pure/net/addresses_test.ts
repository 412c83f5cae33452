// Options and addresses of connections, and the senders of datagrams.
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { readOptions } from "../../../internal/options.ts";
import { type AddressHandle, Gid, Grh, WcFlags, type WorkCompletionList } from "../../../mod.ts";
import { readSrdOptions } from "../../../net/efa/srd_options.ts";
import { readRcAddress, toQpAddress } from "../../../net/rc/rc_address.ts";
import { RC_RULES } from "../../../net/rc/rc_options.ts";
import { handleOf, packetOf, type Peer, Peers, setHandle } from "../../../net/ud/peers.ts";
import {
  attrOf,
  type LocalPort,
  readUdAddress,
  type UdAddress,
} from "../../../net/ud/ud_address.ts";
import { readLookup } from "../../../net/ud/lookup.ts";
import { readUdOptions } from "../../../net/ud/ud_options.ts";

/** Objects with any properties, as callers and peers have them. */
// deno-lint-ignore no-explicit-any
const any = (value: unknown): any => value;

type Limits = Readonly<Record<string, readonly [min: number, max: number, byDefault?: number]>>;

const [UINT16, UINT24, UINT32, INT32] = [0xffff, 0xff_ffff, 0xffff_ffff, 0x7fff_ffff];
const UD = { transport: "UD", gid: "::ffff:10.0.0.1", lid: 1, qpNum: 2, qkey: 3 } as const;
const RC = {
  ...{ transport: "RC" as const, gid: "::ffff:10.0.0.1", lid: 1, qpNum: 2, psn: 3, mtu: 1024 },
  ...{ rdAtomic: 16, credits: 32, maxMessage: 4096 },
} as const;

/** Times. */
const IN_MS = ["keepAlive", "connectTimeout", "timeout", "retryInterval"];

/** What reads objects with numbers, and the numbers it takes. */
const READERS: Readonly<
  Record<string, readonly [read: (given: object) => object, base: object, limits: Limits]>
> = {
  rcOptions: [(given) => readOptions(given, RC_RULES), {}, {
    portNum: [1, 255, 1],
    gidIndex: [0, 255],
    pkeyIndex: [0, 65535, 0],
    credits: [1, 2 ** 15, 32],
    sendDepth: [1, 2 ** 15, 32],
    maxMessage: [8, 2 ** 24, 32768],
    ackTimeout: [1, 31, 17],
    retryCnt: [0, 7, 6],
    keepAlive: [0, INT32, 1000],
    spinMicroseconds: [0, 1000, 200],
    connectTimeout: [1, INT32, 15_000],
    trafficClass: [0, 255],
    sl: [0, 15],
  }],
  "readUdOptions, by address": [(given) => readUdOptions(any(given)), {}, {
    port: [0, UINT16],
    sl: [0, 15],
  }],
  readUdOptions: [(given) => readUdOptions(any(given)), {}, {
    portNum: [1, 255, 1],
    qkey: [0, UINT32, 0x0123_4567],
    gidIndex: [0, 255],
    pkeyIndex: [0, 65535, 0],
    recvDepth: [1, 2 ** 20, 512],
    sendDepth: [1, 2 ** 20, 128],
    maxQueued: [1, 2 ** 20, 512],
    maxPeers: [1, 2 ** 20, 1024],
    spinMicroseconds: [0, 1000, 200],
    trafficClass: [0, 255],
    sl: [0, 15],
  }],
  readSrdOptions: [(given) => readSrdOptions(any(given)), { qkey: 5 }, {
    sendDepth: [1, 2 ** 20, 128],
    rnrRetry: [0, 7],
    sl: [0, 15],
  }],
  readLookup: [(given) => readLookup({ hostname: "host", port: 1 }, any(given)), {}, {
    timeout: [1, INT32, 15_000],
    retryInterval: [0, INT32, 0],
  }],
  readUdAddress: [(given) => readUdAddress(any(given)), UD, {
    lid: [0, UINT16, 1],
    qpNum: [0, UINT24, 2],
    qkey: [0, UINT32, 3],
    maxMessage: [1, UINT32],
  }],
  readRcAddress: [(given) => readRcAddress(given), RC, {
    lid: [0, UINT16, 1],
    qpNum: [0, UINT24, 2],
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
        const unit = IN_MS.includes(key) ? " ms" : "";
        const reason = Number.isInteger(wrong)
          ? `it is not within ${min} to ${max}${unit}`
          : "it is not an integer";
        assertEquals(message.endsWith(reason), true, message);
      }
    }
  });
}

const IS_NONE = "it is not an object with transport, gid, lid, qpNum and qkey, which receive() " +
  "gives with each message, and addr of the peer's socket is";

Deno.test("readUdAddress() refuses what is no address", () => {
  assertEquals(readUdAddress({ ...UD }), UD);
  const wrong: [unknown, string][] = [
    // It says what an address is, and where a program gets one.
    [null, ` null: ${IS_NONE}`],
    ["10.0.0.1", ` "10.0.0.1": ${IS_NONE}`],
    [{ ...UD, transport: "RC" }, ': its transport is not "UD"'],
    [{ ...UD, transport: "SRD" }, ': its transport is not "UD"'],
    [
      { hostname: "10.0.0.1", port: 1 },
      ': its transport is not "UD"; lookup({ hostname, port }) finds it',
    ],
    [{ ...UD, gid: 1 }, ": its gid is not a string"],
  ];
  for (const [address, reason] of wrong) {
    const { message } = assertThrows(() => readUdAddress(any(address)), TypeError);
    assertEquals(message, `Cannot use address${reason}`);
  }
});

Deno.test("readRcAddress() refuses what is no address, and toQpAddress() leaves out what a queue pair has not", () => {
  const wrong: [unknown, string][] = [
    [{ ...RC, transport: "UD" }, 'Cannot use transport "UD": it is not "RC"'],
    [{ ...RC, gid: 1 }, "Cannot use gid 1: it is not a string"],
    [{ ...RC, a: 1 }, 'there is no attribute "a"'],
    [7, "Cannot use address 7: it is not an object with transport, gid, lid, qpNum, psn, ..."],
  ];
  for (const [address, reason] of wrong) {
    const { message } = assertThrows(() => readRcAddress(address), Deno.errors.InvalidData);
    assertEquals(message, `Cannot connect: the address of the peer is not valid. ${reason}`);
  }
  assertEquals(readRcAddress({ ...RC, gid: "0:0::FFFF:10.0.0.1" }), RC);
  const { credits: _credits, maxMessage: _maxMessage, ...rest } = RC;
  assertEquals(toQpAddress(RC), { ...rest, transport: "RC", qkey: null });
});

const NO_FABRIC = { trafficClass: undefined, sl: undefined };

Deno.test("attrOf() has a GRH where the port needs one, and for multicast", () => {
  const local = { port: 2, gidIndex: 3, needsGrh: true } as LocalPort;
  const grh = (gid: string) => ({ dgid: Gid.parse(gid), sgidIndex: 3, hopLimit: 64 });
  const noGrh = { ...local, needsGrh: false };
  assertEquals(attrOf(local, UD, NO_FABRIC), { portNum: 2, dlid: 1, grh: grh(UD.gid) });
  assertEquals(attrOf(noGrh, UD, NO_FABRIC), { portNum: 2, dlid: 1 });
  const fabric = { trafficClass: 106, sl: 3 };
  const classed = { ...grh(UD.gid), trafficClass: 106 };
  assertEquals(attrOf(local, UD, fabric), { portNum: 2, dlid: 1, sl: 3, grh: classed });
  assertEquals(attrOf(noGrh, UD, fabric), { portNum: 2, dlid: 1, sl: 3 });
  const group = attrOf(noGrh, { ...UD, gid: "ff0e::1" }, NO_FABRIC);
  assertEquals(group, { portNum: 2, dlid: 1, grh: grh("ff0e::1") });
});

Deno.test("attrOf() refuses a group that datagrams from the own GID do not reach", () => {
  const from = (gid: string) => (group: string) => () =>
    attrOf({ port: 1, gidIndex: 1, needsGrh: true, gid: Gid.parse(gid) } as LocalPort, {
      ...UD,
      gid: group,
    }, NO_FABRIC);
  const [ipv4, ipv6] = [from("10.0.0.1"), from("fe80::1")];
  assertThrows(ipv4("ff0e::1"), RangeError, "it is of IPv6, and this socket sends from ::ffff");
  assertThrows(ipv6("239.1.2.3"), RangeError, "Take a group of IPv6, or choose another gidIndex");
  assertEquals([ipv4("239.1.2.3")().portNum, ipv6("ff0e::1")().portNum], [1, 1]);
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

function batchOf(packet: Packet): WorkCompletionList {
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

Deno.test("Peers gives the same sender for all bytes that do not tell senders apart", () => {
  const beforeIpv4 = Array.from({ length: 20 }, (_, i) => i);
  // The length of the payload; or the total length, the identification and the checksum.
  const unused = { 6: [4, 5], 4: [...beforeIpv4, 22, 23, 24, 25, 26, 27, 30, 31] };
  for (const version of [4, 6] as const) {
    const peers = new Peers(5, 1000);
    const peerOf = (changes: Record<number, number>, packet = PACKET): UdAddress =>
      peers.sender(batchOf(packet), 0, memoryOf(version, changes), 1)!;
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

Deno.test("Peers looks at no GRH where there is none", () => {
  const peers = new Peers(5, 10);
  const packet = { ...PACKET, wcFlags: 0 };
  const known = peers.sender(batchOf(packet), 0, memoryOf(6), 1)!;
  assertStrictEquals(peers.sender(batchOf(packet), 0, memoryOf(4, { 30: 1 }), 1), known);
  assertEquals([known.gid, known.lid, known.qpNum, known.qkey], ["::", 1, 7, 5]);
});

Deno.test("Peers forgets the oldest sender when there are too many", () => {
  const peers = new Peers(5, 2);
  const peerOf = (srcQp: number): UdAddress =>
    peers.sender(batchOf({ ...PACKET, srcQp }), 0, memoryOf(6), 1)!;
  const [one, two] = [peerOf(1), peerOf(2)];
  assertEquals([peerOf(1) === one, peerOf(2) === two], [true, true]);
  const three = peerOf(3);
  assertEquals([peerOf(2) === two, peerOf(3) === three, peerOf(1) === one], [true, true, false]);
});

Deno.test("Peers.of() knows the packet of its own senders, and each address by its value", () => {
  const peers = new Peers(5, 2);
  const sender = peers.sender(batchOf(PACKET), 0, memoryOf(4), 1)!;
  const grh = new Grh(new Uint8Array(memoryOf(4).buffer, 4));
  assertEquals([sender.gid, sender.transport], [grh.sgid.toString(), "UD"]);
  const packet = packetOf(peers.of(sender, 0));
  const { srcQp: _, ...wc } = PACKET;
  assertEquals([packet?.grh.sgid, packet?.wc], [grh.sgid, wc]);
  for (const [other, address] of [[peers, { ...sender }], [new Peers(5, 2), sender]] as const) {
    assertEquals(packetOf(other.of(address, 0)), undefined);
    assertStrictEquals(other.of(address, 0), other.of({ ...address }, 0));
  }
  for (const change of [{ gid: "::1" }, { lid: 9 }, { qpNum: 9 }, { qkey: 9 }]) {
    const peer = peers.of({ ...sender, ...change }, 0);
    assertEquals([packetOf(peer), { ...peer }], [undefined, { ...sender, ...change }]);
  }
});

Deno.test("Peers.of() forgets the oldest address when there are too many", () => {
  const peers = new Peers(5, 2);
  const of = (qpNum: number): Peer => peers.of({ ...UD, qpNum }, 0);
  const [one, two, three] = [of(1), of(2), of(3)];
  assertEquals([of(2) === two, of(3) === three, of(1) === one], [true, true, false]);
});

Deno.test("Peers finds each of many senders, whichever of their words differ", () => {
  const count = 1000;
  const peers = new Peers(0, 3 * count);
  const senderOf = (i: number): UdAddress => {
    const packets = [{ ...PACKET, srcQp: i }, { ...PACKET, slid: i }, PACKET];
    const memory = memoryOf(4, i < 2 * count ? {} : { 32: i & 0xff, 33: i >> 8 });
    return peers.sender(batchOf(packets[Math.floor(i / count)]!), 0, memory, 1)!;
  };
  const all = Array.from({ length: 3 * count }, (_, i) => senderOf(i));
  assertEquals(new Set(all).size, 3 * count);
  assertEquals(all.findIndex((sender, i) => senderOf(i) !== sender), -1);
});

Deno.test("The address of a sender is plain data that nobody can change, whatever is known of its peer", () => {
  const peers = new Peers(5, 2);
  const sender = peers.sender(batchOf(PACKET), 0, memoryOf(6), 1)!;
  const handle: AddressHandle = any({ disposed: false });
  setHandle(peers.of(sender, 0), handle);
  const plain = { transport: "UD", gid: sender.gid, lid: 1, qpNum: 7, qkey: 5 };
  for (const copy of [sender, structuredClone(sender), JSON.parse(JSON.stringify(sender))]) {
    assertEquals([copy, Reflect.ownKeys(copy)], [plain, Object.keys(plain)]);
  }
  assertThrows(() => any(sender).qpNum = 8, TypeError);
  assertStrictEquals(handleOf(peers.of(sender, 0)), handle);
  assertEquals(handleOf(peers.of(structuredClone(sender), 0)), undefined);
  for (const wrong of [undefined, null, 7, "10.0.0.1"]) {
    assertThrows(() => peers.of(any(wrong), 0), TypeError, "it is not an object with transport");
  }
});

Deno.test("Peers forgets the sender that was not heard of for longest", () => {
  const peers = new Peers(0, 2);
  const senderOf = (srcQp: number): UdAddress =>
    peers.sender(batchOf({ ...PACKET, srcQp }), 0, memoryOf(6), 1)!;
  const [one, two] = [senderOf(1), senderOf(2)];
  assertStrictEquals(senderOf(1), one);
  senderOf(3);
  assertStrictEquals(senderOf(1), one);
  assert(senderOf(2) !== two);
});

Deno.test("Peers.of() refuses an address without a GID, and does not keep it", () => {
  const peers = new Peers(0, 1);
  const known = peers.of(UD, 0);
  for (const gid of ["", "x".repeat(1000)]) assertThrows(() => peers.of({ ...UD, gid }, 0));
  assertStrictEquals(peers.of({ ...UD }, 0), known);
});

type Wrong = readonly [options: object, error: ErrorConstructor, message: string][];
