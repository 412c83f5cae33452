import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CommandError } from "../../shell/command.ts";
import { readPart } from "../../explain.ts";
import { readTransport } from "../../explain/headers.ts";
import { readHex } from "../../explain/hex_input.ts";
import { type Packet, readPacket } from "../../explain/packet.ts";
import { bth, completion, DATAGRAM, ethernet, ipv4, ipv6, UDP } from "./packets.ts";
import { ran } from "./terminal.ts";

const GRH_IPV4 = "00".repeat(20) + ipv4();
const UD = 0x64;

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

Deno.test("readTransport() knows the packets that report congestion", () => {
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

Deno.test("explain begins sections with bold titles, and says how much of a message is a GRH", async () => {
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
