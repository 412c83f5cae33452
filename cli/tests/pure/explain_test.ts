import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CommandError } from "../../shell/command.ts";
import { readPart } from "../../explain.ts";
import { readTransport } from "../../explain/headers.ts";
import { readHex } from "../../explain/hex_input.ts";
import { type Packet, readPacket } from "../../explain/packet.ts";
import { bth, completion, DATAGRAM, ethernet, hex, ipv4, ipv6, UDP } from "./packets.ts";
import { ran } from "./terminal.ts";

const GRH_IPV4 = "00".repeat(20) + ipv4();
const UD = 0x64;

/** What `explain --json` prints. */
async function explained(...operands: string[]): Promise<Record<string, Record<string, unknown>>> {
  const { status, out, err } = await ran(["explain", "--json", ...operands]);
  assertEquals(status, 0, err);
  return JSON.parse(out);
}

const FROM_IPV4 = {
  ...{ dgid: "::ffff:10.0.0.1", sgidIndex: null, hopLimit: 63, trafficClass: 2, flowLabel: 0 },
  ...{ dlid: 0, sl: 0, srcPathBits: 0 },
};
const FROM_IPV6 = {
  ...FROM_IPV4,
  ...{ dgid: "fe80::1", hopLimit: 64, trafficClass: 0x23, flowLabel: 0x456 },
};
const SENDER = { remoteQpn: 0x22, remoteQkey: 0x1111_1111 };
const UNKNOWN = { remoteQpn: null, remoteQkey: null };

Deno.test("explain gives the reply path of a GRH", async () => {
  assertEquals((await explained(GRH_IPV4)).reply, { ...FROM_IPV4, ...UNKNOWN });
  const { reply, grh } = await explained(ipv6(27));
  assertEquals([reply, grh!.hopLimit], [{ ...FROM_IPV6, ...UNKNOWN }, 64]);
});

Deno.test("explain gives the reply path of a completion and its GRH", async () => {
  for (const operands of [[completion({}), GRH_IPV4], [GRH_IPV4, completion({})]]) {
    const { reply, completion: wc } = await explained(...operands);
    assertEquals(reply, { ...FROM_IPV4, sl: 3, remoteQpn: 0x22, remoteQkey: null });
    assertEquals([wc!.status, wc!.byteLen, wc!.wcFlags, wc!.wrId], ["SUCCESS", 104, "GRH", "7"]);
  }
  const { reply } = await explained(completion({ wcFlags: 0, slid: 0x12 }));
  assertEquals(reply, { dlid: 0x12, sl: 3, srcPathBits: 0, remoteQpn: 0x22, remoteQkey: null });
});

Deno.test("explain gives the reply path of each kind of RoCE packet", async () => {
  const rest = bth(UD) + DATAGRAM;
  for (
    const [packet, path] of [
      [ipv4() + UDP + rest, FROM_IPV4],
      [ipv6(17) + UDP + rest, FROM_IPV6],
      [ethernet(0x0800) + ipv4() + UDP + rest, FROM_IPV4],
      [ethernet(0x86dd) + ipv6(17) + UDP + rest, FROM_IPV6],
      [ethernet(0x8915) + ipv6(27) + rest, FROM_IPV6],
      [ethernet(0x0800, 0xa064) + ipv4() + UDP + rest, { ...FROM_IPV4, sl: 5 }],
      // Frames have at least 60 bytes.
      [ethernet(0x0800) + ipv4() + UDP + rest + "00".repeat(9), FROM_IPV4],
    ] as const
  ) {
    const { reply, bth, deth, payload } = await explained(packet);
    assertEquals(reply, { ...path, ...SENDER });
    assertEquals([bth!.opcode, bth!.destQp, bth!.psn], ["UD SEND Only", 0x11, 0x123]);
    assertEquals(deth, { qkey: 0x1111_1111, srcQp: 0x22 });
    assertEquals(payload, { length: 8 });
  }
});

const MULTICAST = "the packet was sent to the multicast group ";
const UNANSWERABLE: [operand: string, reason: string][] = [
  [completion({ status: 5 }), "the request failed: the completion does not name a sender"],
  [completion({ opcode: 0 }), "the completion is not of a receive"],
  [completion({}), "the packet has a GRH: give the 40 bytes before its payload too"],
  ["00".repeat(40), "the GRH is neither an IPv4 nor an IPv6 header"],
  ["00".repeat(20) + ipv4(0xe000_0001), MULTICAST],
  [ipv6(27, 0xff02n << 112n), MULTICAST],
  [ipv4() + UDP + bth(4) + "00".repeat(12), "RC SEND Only is a packet of a connection"],
];

Deno.test("explain says why there is no reply path", async () => {
  for (const [operand, reason] of UNANSWERABLE) {
    assertStringIncludes(String((await explained(operand)).reply!.none), reason);
  }
});

Deno.test("explain reads the headers after the BTH", async () => {
  const write = bth(0x0b) + hex([0x1_0000_0000n, 8], [0xabcd, 4], [4096, 4], [0x12345678, 4]);
  const { reth, immDt } = await explained(ipv4() + UDP + write + "00".repeat(4));
  assertEquals(reth, { remoteAddr: "0x0000000100000000", rkey: 0xabcd, length: 4096 });
  assertEquals(immDt, { immData: 0x12345678 });
});

/** The operations of a reliable connection, by the lower bits of the opcode, with the extended headers. */
const OPERATIONS = [
  ...["SEND First", "SEND Middle", "SEND Last", "SEND Last with Immediate immDt", "SEND Only"],
  ...["SEND Only with Immediate immDt", "RDMA WRITE First reth", "RDMA WRITE Middle"],
  ...["RDMA WRITE Last", "RDMA WRITE Last with Immediate immDt", "RDMA WRITE Only reth"],
  ...["RDMA WRITE Only with Immediate reth immDt", "RDMA READ Request reth"],
  ...["RDMA READ Response First aeth", "RDMA READ Response Middle"],
  ...["RDMA READ Response Last aeth", "RDMA READ Response Only aeth", "Acknowledge aeth"],
  ...["ATOMIC Acknowledge aeth atomicAckEth", "CmpSwap atomicEth", "FetchAdd atomicEth"],
  ...["RESYNC", "SEND Last with Invalidate ieth", "SEND Only with Invalidate ieth", "", "", "", ""],
  ...["FLUSH feth reth", "ATOMIC WRITE reth", "", ""],
];

Deno.test("readTransport() names each operation of each transport, and its headers", () => {
  const transports = {
    RC: [0, (i: number) => i !== 21],
    UC: [1, (i: number) => i < 12],
    RD: [2, (i: number) => i !== 22 && i !== 23, "rdeth", "deth"],
    UD: [3, (i: number) => i === 4 || i === 5, "deth"],
    XRC: [5, (i: number) => i !== 21, "xrceth"],
  } as const;
  for (const [transport, [bits, has, ...own]] of Object.entries(transports)) {
    for (const [i, expected] of OPERATIONS.entries()) {
      const code = bits << 5 | i;
      const isKnown = expected !== "" && has(i);
      const { opcode, sections } = readTransport(Uint8Array.of(code, ...new Uint8Array(99)), 100);
      const keys = sections.slice(1, -1).map(({ key }) => key);
      const [, name, ...others] = /^(.*?)((?: [a-z]\w+)*)$/.exec(expected)!;
      const isResponse = /Response|cknowledge/.test(expected);
      const first = isResponse ? own.filter((key) => key === "rdeth") : own;
      const unknown = [`unknown (0x${code.toString(16).padStart(2, "0")})`];
      const headers = others[0]!.split(" ").filter(Boolean);
      assertEquals(
        [opcode, ...keys],
        isKnown ? [`${transport} ${name}`, ...first, ...headers] : unknown,
      );
    }
  }
});

Deno.test("readTransport() knows the packets that tell of congestion", () => {
  const { opcode } = readTransport(Uint8Array.of(0x81, ...new Uint8Array(27)), 28);
  assertEquals(opcode, "CNP (congestion notification)");
});

Deno.test("readTransport() shows the fields of headers", () => {
  const bytes = Uint8Array.from({ length: 44 }, (_, i) => i === 0 ? 0x0b : 0xf7 - i);
  const shown = readTransport(bytes, 60).sections.map(({ title, rows }) => [
    title,
    ...rows.map(({ name, text }) => `${name}: ${text}`),
  ]);
  assertEquals(shown, [
    [
      "Base transport header (BTH)",
      "opcode: RC RDMA WRITE Only with Immediate (0x0b)",
      ...["solicitedEvent: true", "padCount: 3", "pkey: 0xf5f4", "destQp: 0xf2f1f0"],
      ...["fecn: true", "becn: true", "ackRequested: true", "psn: 15658476"],
    ],
    [
      "RDMA header (RETH)",
      ...["remoteAddr: 0xebeae9e8e7e6e5e4", "rkey: 0xe3e2e1e0", "length: 3755924956"],
    ],
    ["Immediate data header (ImmDt)", "immData: 0xdbdad9d8"],
    ["Payload", "length: 21 bytes, of which 12 are here"],
  ]);
});

Deno.test("readPacket() shows the frame of a packet, and takes nothing else", () => {
  const of = (text: string): Packet | undefined => readPacket(Uint8Array.fromHex(text));
  const [macs, tag, ip] = ["020000000001020000000002", "8100a064", ipv4()];
  const rest = UDP + bth(UD) + DATAGRAM;
  const { sections, sl } = of(`${macs}88a82007${tag}0800${ip}${rest}`)!;
  const [{ title, rows }] = sections as [Packet["sections"][number]];
  assertEquals({ title, sl, rows: rows.map(({ name, text }) => `${name} ${text}`) }, {
    title: "Ethernet header",
    sl: 5,
    rows: [
      ...["destination 02:00:00:00:00:01", "source 02:00:00:00:00:02"],
      ...["outerVlan 7 (priority 1)", "vlan 100 (priority 5)", "ethertype 0x0800"],
    ],
  });
  assertEquals(sections.map(({ title }) => title).includes("UDP header"), true);
  for (
    const other of [
      ...[macs + "08", macs + "0800", macs + "8100a0", `${macs}${tag.repeat(3)}0806${ip}${rest}`],
      ...[ip.slice(0, 18) + "06" + ip.slice(20) + rest, ipv6(6) + rest, ip + UDP.slice(0, 14)],
      ...[`${macs}86dd${ip}${rest}`, `${macs}0800${ipv6(17)}${rest}`, ip.slice(0, 38)],
    ]
  ) assertEquals(of(other), undefined, other);
});

Deno.test("readHex() reads what people paste", () => {
  const bytes = Uint8Array.of(0x12, 0xab, 0xcd);
  for (
    const text of [
      "12abcd",
      "12 AB\n cd",
      "0x12, 0xab, 0xcd",
      "12:ab:cd\n",
      "\t0x0000:  12ab\n\t0x0002:  cd\n",
      "00000000: 12ab cd    ..x\n",
      "        0x0000:  12ab cd    E.?\n",
    ]
  ) assertEquals(readHex(text), bytes, text);
});

const REFUSED: [operands: string[], message: string][] = [
  [
    ["xyz\x1b"],
    'explain: "xyz\\u001b" is not hexadecimal, and there is no such file; see explain --help\n',
  ],
  [["123"], "3 hexadecimal digits are no whole number of bytes"],
  [["--as=packet", ""], "there are no bytes to explain"],
  [["12"], "the 1 bytes are nothing known: a GRH has 40 bytes"],
  [["00".repeat(65_537)], "there are more than 65536 bytes"],
  [["--as=packet", GRH_IPV4], "the 40 bytes are no packet of RoCE"],
  [["--as=completion", GRH_IPV4], "the 40 bytes are no completion: "],
  [[GRH_IPV4, GRH_IPV4], "only a work completion and its GRH"],
  [["--as=packet", ipv4() + UDP], "the packet ends within its BTH: there are 0 of 12 bytes"],
  [
    [ipv4() + UDP + bth(UD) + "1111"],
    "the packet ends within its DETH: there are 14 of 20 bytes",
  ],
];

Deno.test("explain begins sections with bold titles, and tells how much of a message is a GRH", async () => {
  const rows: readonly (readonly [operand: string, text: string])[] = [
    [ipv6(27), "\x1b[1mGRH or IPv6 header\x1b[0m\n"],
    [ipv6(27), " 35 (DSCP 8, ECN 3)\n"],
    [GRH_IPV4, "\n\n\x1b[1mReply path\x1b[0m\n"],
    [completion({}), " 104 bytes: 40 of GRH, 64 of message\n"],
    [completion({ byteLen: 40 }), " 40 bytes: 40 of GRH, 0 of message\n"],
    [completion({ byteLen: 39 }), " 39 bytes\n"],
    [completion({ wcFlags: 0 }), " 104 bytes\n"],
    [completion({ opcode: 129 }), " 104 bytes\n"],
  ];
  for (const [operand, text] of rows) {
    assertStringIncludes((await ran(["explain", operand], { color: true })).out, text);
  }
});

Deno.test("explain refuses what it cannot read", async () => {
  for (const [operands, message] of REFUSED) {
    const { status, out, err } = await ran(["explain", ...operands]);
    assertEquals([status, out], [1, ""]);
    assertStringIncludes(err, message);
  }
});

Deno.test("explain reads bytes as what it was told, and as nothing else", () => {
  const packet = Uint8Array.fromHex(ethernet(0x86dd) + ipv6(17) + UDP + bth(UD) + DATAGRAM);
  assertEquals(Object.keys(readPart(packet)), ["packet"]);
  assertEquals(Object.keys(readPart(packet, "packet")), ["packet"]);
  assertThrows(() => readPart(packet, "completion"), CommandError, "are no completion");
  assertEquals(Object.keys(readPart(new Uint8Array(40), "grh")), ["grh"]);
  assertThrows(() => readPart(new Uint8Array(39), "grh"), CommandError, "are no grh");
});
