import { assertEquals } from "@std/assert";
import { structs } from "../../../ffi/layout.ts";
import { type AhAttr, ahAttrCodec } from "../../../types/address/ah_attr.ts";
import { Gid, type GidEntry, GidType } from "../../../types/address/gid.ts";
import { type WcAddress, WcFlags } from "../../../types/completion/work_completion.ts";
import { wcCodec } from "../../../types/address_handle/packet.ts";
import { GidCache } from "../../../types/reply/gid_cache.ts";
import { ReplyAddress } from "../../../types/reply/reply_address.ts";

const EINVAL = 22;
const EPROTONOSUPPORT = 93;
/** Not what a kernel gives, to tell it from the others. */
const MISS = 2;
const PORT = 3;

function entry(text: string, gidIndex: number, gidType: GidType = GidType.ROCE_V2): GidEntry {
  return { gid: Gid.parse(text), gidIndex, portNum: PORT, gidType, ndevIfindex: 2 };
}

/** All of its words count. */
const LONG = "fd01:203:405:607:809:a0b:c0d:e0f";

const ENTRIES = [
  entry("fe80::1", 0, GidType.ROCE_V1),
  entry("fe80::1", 1),
  entry("10.0.0.1", 2, GidType.ROCE_V1),
  entry("10.0.0.1", 5),
  entry(LONG, 6),
  entry("10.0.0.2", 0x1_07),
];
const GIDS = new GidCache(ENTRIES, 1024, MISS);

interface Packet {
  readonly from?: string;
  readonly to?: string;
  readonly nextHdr?: number;
}

/** Starts at an odd offset: nothing may depend on alignment. */
const AT = 3;

function ipv6(
  { from = "fe80:1:2:3:4:5:6:9", to = "fe80::1", nextHdr = 17 }: Packet = {},
): Uint8Array {
  const bytes = new Uint8Array(AT + 40);
  bytes.set([0x6a, 0xbc, 0xde, 0xf1, 0, 0, nextHdr, 61], AT);
  bytes.set(Gid.parse(from).bytes, AT + 8);
  bytes.set(Gid.parse(to).bytes, AT + 24);
  return bytes;
}

function ipv4({ from = "10.0.0.9", to = "10.0.0.1" }: Packet = {}): Uint8Array {
  const bytes = new Uint8Array(AT + 40);
  bytes.set([0x45, 0x68, 0, 60, 0, 0, 0, 0, 62, 17], AT + 20);
  bytes.set(Gid.parse(from).bytes.subarray(12), AT + 32);
  bytes.set(Gid.parse(to).bytes.subarray(12), AT + 36);
  return bytes;
}

/** Puts the header's checksum in, and junk that looks like IPv6 before it. */
function behindIpv6(bytes: Uint8Array, error = 0): Uint8Array {
  bytes.set([0x6f, 0xff, 0xff, 0xff, 0, 0, 17], AT);
  let sum = 0;
  for (let at = AT + 20; at < AT + 40; at += 2) sum += bytes[at]! * 256 + bytes[at + 1]!;
  sum = (sum & 0xffff) + (sum >>> 16);
  const checksum = (~sum & 0xffff) ^ error;
  bytes.set([checksum >> 8, checksum & 0xff], AT + 30);
  return bytes;
}

type Attr = Omit<AhAttr, "grh"> & { readonly grh: Omit<AhAttr["grh"], "dgid"> & { dgid: string } };

/** With its GID as text: objects whose bytes are private all look alike to assertEquals(). */
function plain(attr: AhAttr): Attr {
  return { ...attr, grh: { ...attr.grh, dgid: attr.grh.dgid.toString() } };
}

function compute(
  bytes: Uint8Array,
  wcFlags: number = WcFlags.GRH,
  address: ReplyAddress = new ReplyAddress(PORT),
  gids: GidCache = GIDS,
): { errno: number; attr: Attr } {
  const view = new DataView(bytes.buffer);
  const wc = { wcFlags, slid: 0xabcd, sl: 7, dlidPathBits: 0x7f };
  const errno = address.compute(wc, view, AT, gids);
  return { errno, attr: plain(ahAttrCodec.read(new DataView(address.words.buffer))) };
}

const NOWHERE = "::";
const common = { dlid: 0xabcd, sl: 7, srcPathBits: 0x7f, staticRate: 0, portNum: PORT };

const IPV6 = {
  dgid: "fe80:1:2:3:4:5:6:9",
  flowLabel: 0xcdef1,
  sgidIndex: 1,
  hopLimit: 61,
  trafficClass: 0xab,
};
const IPV4 = {
  dgid: "::ffff:10.0.0.9",
  flowLabel: 0,
  sgidIndex: 5,
  hopLimit: 62,
  trafficClass: 0x68,
};

/** Packets that have an answer, and the GRH of the answer. */
const ANSWERS: [what: string, bytes: Uint8Array, grh: Attr["grh"]][] = [
  ["an IPv6 packet", ipv6(), IPV6],
  ["a RoCE v1 packet, whose next header is the BTH", ipv6({ nextHdr: 27 }), {
    ...IPV6,
    sgidIndex: 0,
  }],
  ["an IPv6 packet between long GIDs", ipv6({ from: LONG, to: LONG }), {
    ...IPV6,
    dgid: LONG,
    sgidIndex: 6,
  }],
  ["an IPv4 packet", ipv4(), IPV4],
  // The upper bits of an index above 255 are lost.
  ["an IPv4 packet to index 263", ipv4({ to: "10.0.0.2" }), { ...IPV4, sgidIndex: 7 }],
  // The IPv4 checksum is right. The flow label is that of the junk before it.
  ["an IPv4 packet behind what looks like IPv6", behindIpv6(ipv4()), {
    ...IPV4,
    flowLabel: 0xf_ffff,
  }],
];
for (const [what, bytes, grh] of ANSWERS) {
  Deno.test(`ReplyAddress.compute() answers ${what}`, () => {
    const address = new ReplyAddress(PORT);
    // nothing of the packet before may show
    compute(ipv6({ from: LONG }), WcFlags.GRH, address);
    const expected = { errno: 0, attr: { grh, isGlobal: true, ...common } };
    assertEquals(compute(bytes, WcFlags.GRH, address), expected);
  });
}

Deno.test("ReplyAddress.compute() answers an IPv4 packet to the first GID of the table", () => {
  const gids = new GidCache([entry("10.0.0.1", 0)], 1, MISS);
  const { errno, attr } = compute(ipv4(), WcFlags.GRH, new ReplyAddress(PORT), gids);
  assertEquals([errno, attr.grh], [0, { ...IPV4, sgidIndex: 0 }]);
});

Deno.test("ReplyAddress.compute() leaves the GID out when the completion has no GRH", () => {
  const grh = { dgid: NOWHERE, flowLabel: 0xcdef1, sgidIndex: 0, hopLimit: 0, trafficClass: 0 };
  const expected = { errno: 0, attr: { grh, isGlobal: false, ...common } };
  assertEquals(compute(ipv6(), WcFlags.WITH_IMM), expected);
});

const failures: [what: string, bytes: Uint8Array, errno: number, dgid: string][] = [
  ["an IPv6 multicast packet", ipv6({ to: "ff02::1" }), EINVAL, NOWHERE],
  ["an IPv4 multicast packet", ipv4({ to: "239.1.2.3" }), EINVAL, NOWHERE],
  ["an IPv6 GID not in the table", ipv6({ to: "fe80::2" }), MISS, "fe80:1:2:3:4:5:6:9"],
  ["an IPv4 GID not in the table", ipv4({ to: "10.0.0.3" }), MISS, NOWHERE],
  ["a GID of another type", ipv6({ to: "10.0.0.2", nextHdr: 27 }), MISS, "fe80:1:2:3:4:5:6:9"],
  ["an unknown next header", ipv6({ nextHdr: 6 }), EPROTONOSUPPORT, "fe80:1:2:3:4:5:6:9"],
  ["what is no header", new Uint8Array(AT + 40), EPROTONOSUPPORT, NOWHERE],
  // The receiver is read where an IPv4 header lies.
  ["an IPv4 packet with a wrong checksum", behindIpv6(ipv4(), 0x0100), MISS, "::69.104.0.60"],
];
for (const [what, bytes, errno, dgid] of failures) {
  Deno.test(`ReplyAddress.compute() fails as the C function does when given ${what}`, () => {
    const address = new ReplyAddress(PORT);
    // nothing of the packet before may show
    compute(ipv6({ from: LONG }), WcFlags.GRH, address);
    const result = compute(bytes, WcFlags.GRH, address);
    const { grh, isGlobal } = result.attr;
    assertEquals([result.errno, grh.dgid, isGlobal], [errno, dgid, true]);
    assertEquals([grh.sgidIndex, grh.hopLimit], [0, 0]);
  });
}

Deno.test("ReplyAddress.dropStrayFlowLabel() keeps only a flow label that a packet had", () => {
  const address = new ReplyAddress(PORT);
  const kept = (bytes: Uint8Array, flags: number): boolean => {
    compute(bytes, flags, address);
    const before = address.words.slice();
    address.dropStrayFlowLabel();
    return before.every((word, i) => word === address.words[i]);
  };
  assertEquals(kept(ipv6(), WcFlags.GRH), true);
  assertEquals(kept(ipv6(), 0), false);
  assertEquals(kept(behindIpv6(ipv4()), WcFlags.GRH), false);
});

Deno.test("ReplyAddress.computeAt() computes what compute() does, by a completion in native layout", () => {
  const wc: WcAddress = { wcFlags: WcFlags.GRH, slid: 0xfedc, sl: 0xba, dlidPathBits: 0x98 };
  const { view } = wcCodec.write(wc);
  const wcs = new DataView(new ArrayBuffer(3 * structs.ibv_wc.size));
  new Uint8Array(wcs.buffer).set(new Uint8Array(view.buffer), structs.ibv_wc.size);
  const grh = new DataView(ipv6().buffer);
  const [one, other] = [new ReplyAddress(PORT), new ReplyAddress(PORT)];
  assertEquals([one.compute(wc, grh, AT, GIDS), other.computeAt(wcs, 1, grh, AT, GIDS)], [0, 0]);
  assertEquals(other.words, one.words);
});
