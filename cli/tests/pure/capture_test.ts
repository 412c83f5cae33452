import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { ByteSource } from "../../explain/byte_source.ts";
import { type Frame, readCapture } from "../../explain/capture.ts";
import { readInput } from "../../explain/hex_input.ts";
import { readFrame } from "../../explain/packet.ts";
import { syndromeText } from "../../explain/syndrome.ts";
import { run } from "../../run.ts";
import { CommandError, UsageError } from "../../shell/command.ts";
import { REJECT_REASONS, SIDR_STATUSES } from "@rdma/ibverbs/cm";
import {
  cmFrame,
  FRAMES,
  INFINIBAND,
  IPOIB,
  LINKS,
  NEW_OPERATIONS,
  NOTIFICATIONS,
  pcap,
  pcapng,
  SYNDROMES,
  TUNNELS,
} from "./captures.ts";
import { runDeno, stdOptions } from "../../../tests/subprocess.ts";
import { recorder } from "./terminal.ts";

const NANOSECONDS = 0xa1b2_3c4d;

const sourceOf = (bytes: Uint8Array<ArrayBuffer>): ByteSource =>
  new ByteSource(ReadableStream.from([bytes]));

const framesOf = async (bytes: Uint8Array<ArrayBuffer>): Promise<Frame[]> =>
  await Array.fromAsync(readCapture(sourceOf(bytes)));

Deno.test("readCapture() reads pcap and pcapng in both orders of bytes", async () => {
  for (const little of [true, false]) {
    for (const bytes of [pcap(FRAMES, { little }), pcapng(FRAMES, little)]) {
      const frames = await framesOf(bytes);
      assertEquals(frames.map(({ bytes }) => bytes.toHex()), FRAMES);
      assertEquals(frames.map(({ number }) => number), FRAMES.map((_, i) => i + 1));
      assertEquals([frames[1]!.time, frames[1]!.linkType], [1001.0005, 1]);
    }
  }
  assertEquals((await framesOf(pcap(FRAMES, { magic: NANOSECONDS })))[0]!.time, 1000.0000005);
  assertEquals(await framesOf(pcap([])), []);
});

Deno.test("readCapture() gives the frames before the damage, wherever a file is cut", async () => {
  for (const whole of [pcap(FRAMES.slice(0, 3)), pcapng(FRAMES.slice(0, 3))]) {
    const read: number[] = [];
    for (let length = 0; length < whole.length; length++) {
      let count = 0;
      try {
        for await (const _ of readCapture(sourceOf(whole.slice(0, length)))) count++;
      } catch (error) {
        assertInstanceOf(error, CommandError);
      }
      read.push(count);
    }
    assertEquals(new Set(read), new Set([0, 1, 2]));
    assertEquals(read, read.toSorted((a, b) => a - b));
  }
});

Deno.test("readCapture() refuses a simple block without a length", async () => {
  const whole = pcapng(FRAMES.slice(0, 1));
  const simple = Uint8Array.fromHex("03000000" + "0c000000" + "0c000000");
  const others = whole.subarray(0, whole.toHex().lastIndexOf("03000000") / 2);
  const damaged = Uint8Array.of(...others, ...simple);
  await assertRejects(() => framesOf(damaged), CommandError, "damaged");
});

Deno.test("a capture with any byte changed gives frames or an error", async () => {
  const frames = [...FRAMES.slice(0, 3), FRAMES.at(-3)!, FRAMES.at(-1)!];
  for (const whole of [pcap(frames), pcapng(frames), pcapng(frames, false)]) {
    for (let at = 0; at < whole.length; at++) {
      for (const value of [0, 0xff, whole[at]! ^ 1]) {
        const bytes = whole.slice();
        bytes[at] = value;
        let count = 0;
        try {
          for await (const frame of readCapture(sourceOf(bytes))) {
            count++;
            readFrame(frame.bytes, frame.linkType);
          }
        } catch (error) {
          assertInstanceOf(error, CommandError);
        }
        // A header of a frame has at least 16 bytes.
        assert(count <= whole.length / 16);
      }
    }
  }
});

Deno.test("readCapture() reads the packets of old pcapng files", async () => {
  const frames = FRAMES.slice(0, 3);
  const text = pcapng(frames).toHex().replaceAll(/06000000(?=\w{8}00000000)/g, "02000000");
  const read = await framesOf(Uint8Array.fromHex(text));
  assertEquals(read.map(({ bytes }) => bytes.toHex()), frames);
});

const gzip = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  await new Response(
    ReadableStream.from([bytes]).pipeThrough(new CompressionStream("gzip")),
  ).bytes();

Deno.test("readCapture() reads compressed captures, and says so if one is damaged", async () => {
  for (const whole of [pcap(FRAMES), pcapng(FRAMES)]) {
    const compressed = await gzip(whole);
    const frames = await framesOf(compressed);
    assertEquals(frames.map(({ bytes }) => bytes.toHex()), FRAMES);
    for (const damaged of [compressed.slice(0, -9), compressed.fill(0xff, 10, 20)]) {
      await assertRejects(() => framesOf(damaged), CommandError, "cannot be decompressed");
    }
  }
});

/** Who sends to whom, the operation, and the queue pairs: what the frames of tunnels have in them. */
function innermost(text: string, linkType = 1): unknown[] {
  const { addresses, packet, reason } = readFrame(Uint8Array.fromHex(text), linkType);
  return [addresses, packet?.opcode, packet?.srcQp, reason];
}

Deno.test("readFrame() finds packets in tunnels", () => {
  for (const [name, frame] of Object.entries(TUNNELS)) {
    const isIpv6 = name.includes("options") || name.includes("fragment");
    const addresses = isIpv6 ? ["fe80::1", "fe80::2"] : ["10.0.0.1", "10.0.0.2"];
    assertEquals(innermost(frame), [addresses, "UD SEND Only", 0x22, undefined], name);
  }
});

Deno.test("readFrame() keeps the headers of a tunnel apart from those of the packet", () => {
  const { sections } = readFrame(Uint8Array.fromHex(TUNNELS["VXLAN of Linux"]!), 1);
  assertEquals(sections.map(({ key }) => key), [
    ...["outerEthernet", "outerGrh", "outerUdp", "outerVxlan"],
    ...["ethernet", "grh", "udp", "bth", "deth", "payload"],
  ]);
  assertEquals(sections[1]!.title, "Outer GRH or IPv6 header");
});

Deno.test("readFrame() reads packets of InfiniBand", () => {
  const [local, global] = INFINIBAND.map((frame) => innermost(frame, 247));
  assertEquals(local, [["LID 1", "LID 2"], "UD SEND Only", 0x22, undefined]);
  assertEquals(global, [["fe80::1", "fe80::2"], "UD SEND Only", 0x22, undefined]);
});

Deno.test("readFrame() shows what IP over InfiniBand carries", () => {
  const [ping, request] = IPOIB.map((frame) => readFrame(Uint8Array.fromHex(frame), 247));
  const keys = ({ sections }: typeof ping & object): string[] => sections.map(({ key }) => key);
  assertEquals(keys(ping!), [
    ...["lrh", "bth", "payload", "innerIpoib", "innerGrh", "innerIcmp"],
  ]);
  assertEquals(keys(request!), [
    ...["lrh", "bth", "deth", "payload", "innerIpoib", "innerArp"],
  ]);
  assertEquals([ping, request].map((frame) => frame!.packet!.summary.split(": ").slice(1)), [
    ["IPoIB, 10.0.0.1 to 10.0.0.2", "ICMP type 8 (echo request)"],
    ["IPoIB, 10.0.0.1 to 10.0.0.2", "ethertype 0x0806 (ARP)"],
  ]);
  assertEquals(ping!.packet!.grh, undefined);
  // Over Ethernet a message may begin so by chance.
  const message = "0800000045".padEnd(40, "0");
  const overEthernet = FRAMES[0]!.replace("ab".repeat(8), message);
  const { sections } = readFrame(Uint8Array.fromHex(overEthernet), 1);
  assertEquals(sections.at(-1)!.key, "payload");
});

Deno.test("readFrame() says why a frame is no packet", () => {
  const withBytes = (at: number, digits: string, frame = FRAMES[0]!): string =>
    frame.slice(0, 2 * at) + digits + frame.slice(2 * at + digits.length);
  const gre = TUNNELS["GRE"]!;
  const rows: readonly (readonly [frame: string, reason: string, linkType?: number])[] = [
    ["00", "the packet ends within its Ethernet header: there are 1 of 14 bytes"],
    [withBytes(12, "0806"), "ethertype 0x0806 (ARP)"],
    [withBytes(12, "8808"), "ethertype 0x8808 (flow control: pause or PFC)"],
    [withBytes(12, "1234"), "ethertype 0x1234"],
    [withBytes(12, "0026"), "IEEE 802.3 frame, which has no ethertype"],
    [withBytes(12, "86dd"), "the header of IPv6 says version 4"],
    [withBytes(12, "8915"), "GRH with next header 64, which is no BTH"],
    [withBytes(20, "0001"), "a later IP fragment: only the first one has the headers"],
    [withBytes(23, "06"), "IP protocol 6 (TCP)"],
    [withBytes(23, "63"), "IP protocol 99"],
    [withBytes(36, "0035"), "UDP port 53 (DNS)"],
    [withBytes(36, "d431"), "UDP port 54321"],
    [withBytes(38, "0003"), "the packet ends within its BTH: there are 0 of 12 bytes"],
    [withBytes(34, "0001", gre), "GRE version 1, which is not known"],
    [withBytes(36, "880b", gre), "ethertype 0x880b"],
    [withBytes(42, "5", TUNNELS["ERSPAN II"]!), "ERSPAN version 5, which is not known"],
    [withBytes(52, "1c", TUNNELS["ERSPAN III"]!), "ERSPAN frame type 7"],
    [withBytes(45, "07", TUNNELS["VXLAN GPE"]!), "next protocol 7"],
    [withBytes(51, "01", TUNNELS["a network service header"]!), "service header has 4 bytes"],
    [withBytes(15, "99", TUNNELS["Cisco metadata"]!), "ends within its Cisco metadata"],
    [`${FRAMES[0]!.slice(0, 24)}884700010140ff${"00".repeat(30)}`, "MPLS labels before something"],
    [withBytes(14, "40", TUNNELS["IPv4 in IPv4"]!), "the IPv4 header has 0 bytes"],
    [`00000000c0000000${"00".repeat(20)}`, "the PPI header has 0 bytes", 192],
    ["00000063", "address family 99", 0],
    [INFINIBAND[0]!.replace("0002", "0001"), "raw IPv6", 247],
    [`${"00".repeat(40)}08000000${IPOIB[0]!.slice(48, -12)}`, "ICMP type 8 (echo request)", 242],
    ["00".repeat(99), "unknown link type 147 (private)", 147],
    [`${"00".repeat(8)}19${"00".repeat(30)}`, "link packets of InfiniBand", 197],
  ];
  for (const [frame, reason, linkType = 1] of rows) {
    const decoded = readFrame(Uint8Array.fromHex(frame), linkType);
    assertEquals(decoded.packet, undefined);
    assertStringIncludes(decoded.reason!, reason);
  }
});

Deno.test("readFrame() ends, whatever the headers of a tunnel say", () => {
  const frames = [...Object.values(TUNNELS).map((frame) => [1, frame] as const), ...LINKS];
  for (const [linkType, frame] of frames) {
    const whole = Uint8Array.fromHex(frame);
    for (let at = 0; at < whole.length; at++) {
      for (const value of [0, 0xff, 0x40, 0xc0, whole[at]! ^ 1]) {
        const { packet, reason } = readFrame(whole.with(at, value), linkType);
        assert(packet !== undefined || reason !== undefined);
      }
    }
  }
});

Deno.test("readFrame() shows as much as there is of a frame that is cut", () => {
  for (const frame of [...FRAMES, ...Object.values(TUNNELS)]) {
    for (let length = 0; length < frame.length; length += 2) {
      const { packet, reason } = readFrame(Uint8Array.fromHex(frame.slice(0, length)), 1);
      if (packet === undefined) assert(reason !== undefined, frame.slice(0, length));
    }
  }
  const write = FRAMES.find((frame) => frame.slice(84, 86) === "0a")!;
  const { packet, reason } = readFrame(Uint8Array.fromHex(write.slice(0, 128)), 1);
  assertEquals([packet?.opcode, packet?.sections.at(-1)?.key], ["RC RDMA WRITE Only", "bth"]);
  assertEquals(reason, "the packet ends within its RETH: there are 22 of 28 bytes");
});

Deno.test("readFrame() reads each link type", () => {
  for (const [linkType, frame] of LINKS) {
    const packet = [["10.0.0.1", "10.0.0.2"], "UD SEND Only", 0x22, undefined];
    assertEquals(innermost(frame, linkType), packet, `link type ${linkType}`);
  }
});

Deno.test("syndromeText() names each kind of syndrome", () => {
  const codes = Object.keys(SYNDROMES).map(Number);
  assertEquals(codes.map(syndromeText), codes.map((code) => SYNDROMES[code]!));
});

async function explained(
  bytes: Uint8Array,
  ...options: string[]
): Promise<[number, string, string]> {
  const file = await Deno.makeTempFile({ suffix: ".pcap" });
  try {
    await Deno.writeFile(file, bytes);
    const kept = recorder();
    return [await run(["explain", file, ...options], kept.terminal), kept.out, kept.err];
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("explain shows each frame of a capture", async () => {
  const rnr = FRAMES.find((frame) => frame.includes("2c000009"))!;
  const cm = FRAMES.find((frame) => frame.includes("01070203"))!;
  const [status, out, err] = await explained(pcap([rnr, cm, FRAMES.at(-1)!, "00"]));
  assertEquals([status, err], [0, ""]);
  for (
    const text of [
      "Frame 1, 1970-01-01T00:16:40.000Z, 62 bytes: RC Acknowledge\nEthernet header\n",
      "  syndrome  0x2c (RNR NAK: no receive is posted, again after 0.64 ms)\n",
      "  attributeId        0x0010 (ConnectRequest (REQ))\n",
      "Frame 3, 1970-01-01T00:16:42.000Z, 42 bytes: no RoCE packet: ethertype 0x0806 (ARP)\nEthernet header\n",
      "Frame 4, 1970-01-01T00:16:43.000Z, 1 bytes: no RoCE packet: the packet ends within its Ethernet header: ",
    ]
  ) assert(out.includes(text), `${text} is not in\n${out}`);
});

Deno.test("explain knows a capture of any name, and says why it reads no other file", async () => {
  const folder = await Deno.makeTempDir();
  const explain = async (name: string, bytes?: Uint8Array): Promise<[number, string]> => {
    const file = `${folder}/${name}`;
    if (bytes !== undefined) await Deno.writeFile(file, bytes);
    const kept = recorder();
    return [await run(["explain", "--brief", file], kept.terminal), kept.out + kept.err];
  };
  try {
    for (const bytes of [pcap(FRAMES.slice(0, 1)), pcapng(FRAMES.slice(0, 1))]) {
      const [status, out] = await explain("trace", bytes);
      assertEquals([status, out.split(" ", 2).join(" ")], [0, "Frame 1,"]);
    }
    const [status, text] = await explain("dump.txt", new TextEncoder().encode("45 00"));
    assertEquals([status, /no capture: .* read from standard input$/m.test(text)], [1, true], text);
    const [missing, reason] = await explain("none");
    assertEquals(missing, 1);
    assert(reason.includes('none" is not hexadecimal, and there is no such file'), reason);
    using _ = stub(Deno.permissions, "querySync", () => ({ state: "denied" }) as never);
    const [refused, hint] = await explain("trace");
    assertEquals([refused, hint.includes("capture, --allow-read is needed")], [1, true], hint);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const LOCAL = { localCommId: 0x11, remoteCommId: 0x22 };
const COMM_IDS = { 0: "00000011", 4: "00000022" };
const SERVICE = { serviceId: "0x000000000106bde2", port: 0xbde2 };
const PATH = "ffff" + "fffe" + "0".repeat(20) + "ffff0a000001" + "fe80" + "0".repeat(27) + "2";

/** Messages of connection managers: the attribute, bytes, and what explain shows of them. */
const MESSAGES: readonly [number, Record<number, string>, string, Record<string, unknown>][] = [
  [
    0x10,
    {
      0: "00000011",
      ...{ 8: "000000000106bde2", 16: "0102030405060708", 28: "11111111", 32: "00002b10" },
      ...{ 36: "0000030f", 40: "0000049b", 44: "cee23ea7", 48: "fffe3ff9" },
      ...{ 52: PATH, 88: "504340100840289b", 140: "0040a76e", 156: "0a000001", 172: "0a000002" },
      176: "616263",
    },
    "req",
    {
      ...{ localCommId: 0x11, ...SERVICE, localCaGuid: "0x0102030405060708" },
      ...{ localQkey: 0x1111_1111, localQpn: 0x2b, responderResources: 16, localEecn: 3 },
      ...{ initiatorDepth: 15, remoteEecn: 4, remoteCmResponseTimeout: 19 },
      ...{ transportServiceType: 1, flowControl: true, startingPsn: 0xcee23e },
      ...{ localCmResponseTimeout: 20, retryCount: 7, pkey: 0xfffe, pathMtu: 3, rdcExists: true },
      ...{ rnrRetryCount: 7, maxCmRetries: 15, srq: true, extendedTransport: 1 },
      ...{ primaryLocalLid: 0xffff, primaryRemoteLid: 0xfffe },
      ...{ primaryLocalGid: "::ffff:10.0.0.1", primaryRemoteGid: "fe80::2" },
      ...{ primaryFlowLabel: 0x50434, primaryPacketRate: 16, primaryTrafficClass: 8 },
      ...{ primaryHopLimit: 64, primarySl: 2, primarySubnetLocal: true },
      ...{ primaryLocalAckTimeout: 19, srcPort: 0xa76e, srcAddr: "10.0.0.1" },
      ...{ dstAddr: "10.0.0.2", privateData: "616263".padEnd(112, "0") },
    },
  ],
  [0x11, { ...COMM_IDS, 8: "40a0" }, "mra", {
    ...{ ...LOCAL, message: 1, serviceTimeout: 20, privateData: "0".repeat(444) },
  }],
  [0x12, { ...COMM_IDS, 8: "4008001c", 84: "6e6f" }, "rej", {
    ...{ ...LOCAL, message: 1, infoLength: 4, reason: 28, privateData: "6e6f".padEnd(296, "0") },
  }],
  [
    0x13,
    {
      ...{ ...COMM_IDS, 8: "11111111", 12: "00002b00", 16: "00000300", 20: "cee23e00" },
      ...{ 24: "100fa5f0", 28: "0102030405060708", 36: "79" },
    },
    "rep",
    {
      ...{ ...LOCAL, localQkey: 0x1111_1111, localQpn: 0x2b, localEecn: 3 },
      ...{ startingPsn: 0xcee23e, responderResources: 16, initiatorDepth: 15 },
      ...{ targetAckDelay: 20, failoverAccepted: 2, flowControl: true, rnrRetryCount: 7 },
      ...{ srq: true, localCaGuid: "0x0102030405060708", privateData: "79".padEnd(392, "0") },
    },
  ],
  [0x14, COMM_IDS, "rtu", { ...LOCAL, privateData: "0".repeat(448) }],
  [0x15, { ...COMM_IDS, 8: "00002b00" }, "dreq", {
    ...{ ...LOCAL, remoteQpn: 0x2b, privateData: "0".repeat(440) },
  }],
  [0x16, COMM_IDS, "drep", { ...LOCAL, privateData: "0".repeat(448) }],
  [
    0x17,
    { 0: "00000033", 4: "ffff", 8: "000000000111bde2", 16: "0060a76e", 35: "01", 51: "02" },
    "sidrReq",
    {
      ...{ requestId: 0x33, pkey: 0xffff, serviceId: "0x000000000111bde2", port: 0xbde2 },
      ...{ srcPort: 0xa76e, srcAddr: "::1", dstAddr: "::2", privateData: "0".repeat(360) },
    },
  ],
  [
    0x18,
    { 0: "00000033", 4: "0103", 8: "00002b00", 12: "0000000000000007", 20: "01234567" },
    "sidrRep",
    {
      ...{ requestId: 0x33, status: 1, infoLength: 3, qpn: 0x2b },
      ...{ serviceId: "0x0000000000000007", qkey: 0x0123_4567, privateData: "0".repeat(272) },
    },
  ],
  [0x19, COMM_IDS, "lap", { ...LOCAL, privateData: "0".repeat(128) }],
  [0x1a, COMM_IDS, "apr", { ...LOCAL, privateData: "0".repeat(296) }],
];

Deno.test("explain shows all fields of the messages of connection managers", async () => {
  const frames = MESSAGES.map(([attribute, bytes]) => cmFrame(attribute, bytes));
  const [, out] = await explained(pcap(frames), "--json");
  const shown = out.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(
    shown.map((frame, i) => frame[MESSAGES[i]![2]]),
    MESSAGES.map(([, , , fields]) => fields),
  );
  const [, text] = await explained(pcap(frames));
  for (
    const part of [
      "\nConnectReject (REJ)\n",
      "\nDisconnectRequest (DREQ)\n",
      "  reason        28 (the peer's program does not want it)\n",
      "  message       1 (REP)\n",
      "  privateData   6e6f\n",
      "  status       1 (nobody listens on this port of the peer)\n",
    ]
  ) assert(text.includes(part), `${part} is not in\n${text}`);
});

Deno.test("explain reads no message of connection managers in a datagram of another class", async () => {
  const [cm, other] = [cmFrame(0x10, {}), cmFrame(0x10, {}).replace("01070203", "01040103")];
  const [, out] = await explained(pcap([cm, other]), "--json");
  const frames = out.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(frames.map(({ req }) => req !== undefined), [true, false]);
  assertEquals(frames.map(({ mad }) => [mad.mgmtClass, mad.classVersion]), [[7, 2], [4, 1]]);
});

Deno.test("explain names the messages of ICMP, as long as they have a header", async () => {
  const of = async (start: string, types: readonly number[], size = 8): Promise<unknown[]> => {
    const frames = FRAMES.filter((frame) => frame.includes(start));
    assertEquals(frames.length, 1);
    const at = frames[0]!.indexOf(start);
    const headers = frames[0]!.slice(0, at);
    const texts = types.map((type) =>
      headers + type.toString(16).padStart(2, "0") + start.slice(2) +
      "00".repeat(size - start.length / 2)
    );
    const [, out] = await explained(pcap(texts));
    return [...out.matchAll(/^ {2}(type) +(.*)$/gm)].map(([, name, text]) => `${name} ${text}`);
  };
  assertEquals(await of("0301fcfe00000000", [0, 3, 5, 8, 11, 99]), [
    ...["type 0 (echo reply)", "type 3 (destination unreachable)", "type 5 (redirect)"],
    ...["type 8 (echo request)", "type 11 (time exceeded)", "type 99"],
  ]);
  assertEquals(await of("8700000000000000fe80", [1, 2, 3, 128, 129, 135], 24), [
    ...["type 1 (destination unreachable)", "type 2 (packet too big)", "type 3 (time exceeded)"],
    ...["type 128 (echo request)", "type 129 (echo reply)", "type 135 (neighbour solicitation)"],
  ]);
});

Deno.test("explain takes no UDP datagram to another port for a packet", async () => {
  const other = FRAMES[0]!.replace("c00012b7", "c00012b8");
  const [, out] = await explained(pcap([other, FRAMES[0]!]), "--json");
  const packets = out.trim().split("\n").map((line) => JSON.parse(line).packet);
  assertEquals(packets, [null, "UD SEND Only"]);
});

Deno.test("explain has words for each reason of a rejection", () => {
  const texts = [REJECT_REASONS, SIDR_STATUSES].map((reasons) => Object.values(reasons));
  for (const list of texts) {
    assertEquals([new Set(list).size, list.filter((text) => !/^\w.{15,}\w$/.test(text))], [
      list.length,
      [],
    ]);
  }
});

Deno.test("explain shows the alternate path of a request if there is one", async () => {
  const [, out] = await explained(pcap([cmFrame(0x10, { 96: PATH })]), "--json");
  assertEquals(JSON.parse(out).req.alternateRemoteGid, "fe80::2");
});

Deno.test("explain --json prints a line for each frame, and goes on behind a damaged one", async () => {
  const [status, out] = await explained(pcap([FRAMES[0]!.slice(0, 100), FRAMES[0]!]), "--json");
  assertEquals(status, 0);
  const [damaged, whole] = out.trim().split("\n").map((line) => JSON.parse(line));
  const reason = "the packet ends within its BTH: there are 8 of 12 bytes";
  assertEquals([damaged.frame, damaged.packet, damaged.reason], [1, null, reason]);
  assertEquals([damaged.from, damaged.to, damaged.grh.saddr], ["10.0.0.1", "10.0.0.2", "10.0.0.1"]);
  assertEquals([whole.packet, whole.time, whole.deth.srcQp], ["UD SEND Only", 1001.0005, 0x22]);
});

Deno.test("explain --brief prints a line for each frame, and --roce only those of RoCE packets", async () => {
  const frames = pcap([FRAMES[0]!, FRAMES.at(-1)!, FRAMES[1]!]);
  const lines = async (...options: string[]): Promise<string[]> =>
    (await explained(frames, ...options))[1].trim().split("\n");
  const all = [
    "Frame 1, 1970-01-01T00:16:40.000Z, 74 bytes: 10.0.0.1 to 10.0.0.2: UD SEND Only from 0x000022 to 0x000011, PSN 291, qkey 0x11111111",
    "Frame 2, 1970-01-01T00:16:41.000Z, 42 bytes: 02:00:00:00:00:01 to 02:00:00:00:00:02: no RoCE packet: ethertype 0x0806 (ARP)",
    "Frame 3, 1970-01-01T00:16:42.000Z, 98 bytes: fe80::1 to fe80::2: UD SEND Only with Immediate from 0x000022 to 0x000011, PSN 291, qkey 0x11111111",
  ];
  assertEquals(await lines("--brief"), all);
  assertEquals(await lines("--brief", "--roce"), [all[0]!, all[2]!]);
  assertEquals((await lines("--json", "--roce")).map((line) => JSON.parse(line).frame), [1, 3]);
});

/** A file of frames that were cut, each to its first bytes. */
function snapped(frames: readonly string[], most: number): Uint8Array<ArrayBuffer> {
  const bytes = pcap(frames.map((frame) => frame.slice(0, 2 * most)));
  const view = new DataView(bytes.buffer);
  let at = 24;
  for (const frame of frames) {
    view.setUint32(at + 12, frame.length / 2, true);
    at += 16 + view.getUint32(at + 8, true);
  }
  return bytes;
}

Deno.test("explain tells how long frames were on the wire", async () => {
  const frames = snapped([FRAMES[0]!, FRAMES.find((frame) => frame.slice(84, 86) === "0a")!], 60);
  const [, text] = await explained(frames, "--brief");
  assertMatch(text, /^Frame 1, \S+ 60 of 74 bytes: /);
  assertMatch(
    text,
    / 60 of 82 bytes: .* RDMA WRITE Only to 0x000011, PSN 291: the packet ends within/,
  );
  const [, json] = await explained(frames, "--json");
  const { length, captured, payload } = JSON.parse(json.split("\n")[0]!);
  assertEquals([length, captured, payload], [74, 60, undefined]);
  const [, whole] = await explained(snapped([FRAMES[0]!], 64), "--json");
  assertEquals(JSON.parse(whole).payload, { length: 8 });
});

Deno.test("explain says in each form that there are no packets, and what there is", async () => {
  const [arp, tcp] = [FRAMES.at(-1)!, FRAMES.at(-2)!];
  const forms = [["--brief"], ["--roce"], [], ["--json"], ["--brief", "--roce"]];
  for (const options of forms) {
    const [status, out, err] = await explained(pcap([arp, tcp, tcp]), ...options);
    const summary = "of 3 frames: 2 of IP protocol 6 (TCP); 1 of ethertype 0x0806 (ARP)\n";
    assertEquals([status, err], [1, `explain: no RoCE packet ${summary}`], options.join());
    assertEquals(out.includes("TCP"), !options.includes("--roce"), out);
    const none = await explained(pcap([]), ...options);
    assertEquals(none, [1, "", "explain: no RoCE packet is in the capture: it has no frames\n"]);
    const unknown = await explained(pcap([tcp], { linkType: 147 }), ...options);
    assertStringIncludes(unknown[2], "of unknown link type 147 (private)");
  }
});

Deno.test("explain --roce says what it leaves out, and leaves out no damaged packet", async () => {
  const [whole, cut, arp] = [FRAMES[0]!, FRAMES[0]!.slice(0, 100), FRAMES.at(-1)!];
  const [status, out, err] = await explained(pcap([whole, cut, arp]), "--roce", "--brief");
  assertEquals([status, out.trim().split("\n").length], [0, 2]);
  assertMatch(out, /no RoCE packet: the packet ends within its BTH: there are 8 of 12 bytes\n$/);
  assertMatch(err, /^explain: left out of 3 frames: .*1 of ethertype 0x0806 \(ARP\)/);
});

Deno.test("explain --brief names messages, and what the network tells of congestion", async () => {
  const message = (attribute: number): string =>
    cmFrame(attribute, MESSAGES.find(([code]) => code === attribute)![1]);
  const other = cmFrame(0x10, {}).replace("01070203", "01040103");
  const frames = [...[0x10, 0x12, 0x15, 0x18].map(message), ...NOTIFICATIONS, other];
  const [, out] = await explained(pcap(frames), "--brief");
  const texts = out.trim().split("\n").map((line) => line.split(/PSN \d+(?:, |: )/)[1]!);
  const of = "localCommId 0x00000011, remoteCommId 0x00000022";
  assertEquals(texts, [
    "qkey 0x11111111: ConnectRequest (REQ), localCommId 0x00000011, port 48610, localQpn 0x00002b",
    `qkey 0x11111111: ConnectReject (REJ), ${of}, message 1 (REP), reason 28 (the peer's program does not want it)`,
    `qkey 0x11111111: DisconnectRequest (DREQ), ${of}, remoteQpn 0x00002b`,
    "qkey 0x11111111: ServiceIDResReqResp (SIDR_REP), requestId 0x00000033, status 1 (nobody listens on this port of the peer), qpn 0x00002b",
    "FECN 0, BECN 1",
    "FECN 1, BECN 0",
    "qkey 0x11111111: MAD, mgmtClass 0x04 (performance management), method 0x03, status 0x0000, attributeId 0x0010 (unknown)",
  ]);
});

Deno.test("explain shows what a flush is for, and what an atomic write writes", async () => {
  const [flush, write] = NEW_OPERATIONS;
  const [, other] = await explained(pcap([write!]), "--json");
  const { packet: name, reth: where, payload } = JSON.parse(other);
  assertEquals([name, where.length, payload], ["RC ATOMIC WRITE", 64, { length: 8 }]);
  const [, json] = await explained(pcap([flush!]), "--json");
  const { packet, feth, reth } = JSON.parse(json);
  assertEquals([packet, feth, reth.length], [
    "RC FLUSH",
    { placementType: 2, selectivityLevel: 1 },
    64,
  ]);
  const [, text] = await explained(pcap([flush!]));
  assertStringIncludes(text, "  placementType     2 (persistence)\n");
});

Deno.test("explain tells in words how a request ended, also in lines and in JSON", async () => {
  const refused = FRAMES.find((frame) =>
    frame.slice(84, 86) === "11" && frame.slice(108, 110) === "62"
  )!;
  const words = "NAK, remote access error: wrong rkey, address or rights";
  const [, line] = await explained(pcap([refused]), "--brief");
  assertMatch(
    line,
    / bytes: 10.0.0.1 to 10.0.0.2: RC Acknowledge to 0x000011, PSN 291: NAK, remote access error: wr/,
  );
  const [, json] = await explained(pcap([refused]), "--json");
  assertEquals(JSON.parse(json).aeth, { syndrome: 0x62, meaning: words, msn: 9 });
});

Deno.test("explain shows frames whose time no calendar has", async () => {
  const bytes = pcapng(FRAMES.slice(0, 2));
  const text = bytes.toHex();
  bytes[text.indexOf("0900010009") / 2 + 4] = 0;
  // The upper half of the time is behind the type, the length and the interface of a block.
  bytes.fill(0xff, text.indexOf("06000000") / 2 + 12, text.indexOf("06000000") / 2 + 16);
  const [status, out] = await explained(bytes);
  assertEquals([status, /^Frame 1, \d+ s, /.test(out)], [0, true], out);
});

Deno.test("explain says what is wrong with a capture", async () => {
  const [status, out, err] = await explained(pcap(FRAMES.slice(0, 2)).subarray(0, -1), "--json");
  assertEquals([status, out.trim().split("\n").length], [1, 1]);
  assert(err.startsWith("explain: the capture is damaged, or ends too early: at byte "), err);
  const other = await explained(new Uint8Array(99));
  assertEquals(other.slice(0, 2), [1, ""]);
  assert(/: the file is no capture: it begins neither as pcap nor as pcapng\./.test(other[2]));
});

Deno.test("readCapture() gives each frame when its last byte has come", async () => {
  const whole = pcap(FRAMES);
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const writer = writable.getWriter();
  const frames = readCapture(new ByteSource(readable));
  let written = 0;
  for (const digits of FRAMES) {
    const end = (whole.toHex().indexOf(digits, 2 * written) + digits.length) / 2;
    writer.write(whole.slice(written, end)).catch(() => {});
    written = end;
    // Nothing else has come, and the stream has not ended.
    assertEquals((await frames.next()).value?.bytes.toHex(), digits);
  }
});

Deno.test("readCapture() refuses a frame that no device has, and does not wait for its bytes", async () => {
  const whole = pcap(FRAMES.slice(0, 1));
  new DataView(whole.buffer).setUint32(24 + 8, 2 ** 31, true);
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  writable.getWriter().write(whole).catch(() => {});
  const frames = readCapture(new ByteSource(readable));
  await assertRejects(() => frames.next(), CommandError, "no room for 2147483648 bytes");
});

Deno.test("readInput() leaves a capture, however it comes, and gives anything else as text", async () => {
  const capture = pcap(FRAMES);
  const pieces = (bytes: Uint8Array<ArrayBuffer>): ByteSource =>
    new ByteSource(
      ReadableStream.from([bytes.slice(0, 1), bytes.slice(1, 30), bytes.slice(30)]),
    );
  const rest = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
    const input = await readInput(pieces(bytes));
    assertInstanceOf(input, ByteSource);
    return await input.take(bytes.length);
  };
  assertEquals(await rest(capture), capture);
  const swapped = new Uint8Array(capture);
  swapped.subarray(0, 4).reverse();
  assertEquals(await rest(swapped), swapped);
  const text = new TextEncoder().encode("60 00 00 00".repeat(9));
  assertEquals(await readInput(pieces(text)), "60 00 00 00".repeat(9));
  const long = new Uint8Array(800_000);
  await assertRejects(() => readInput(pieces(long)), UsageError, "more than 65536 bytes");
  long.set(capture);
  assertEquals(await rest(long), long);
});

Deno.test("explain shows a capture that comes by standard input", async () => {
  const { code, stdout, stderr } = await runDeno(
    ["run", "--no-check", ...stdOptions(), "cli/mod.ts", "explain", "--brief"],
    { input: pcap(FRAMES) },
  );
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^Frame 1, .*: .*\nFrame 2, /);
});
