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
import { CommandError, UsageError } from "../../shell/command.ts";
import { REJECT_REASONS, SIDR_STATUSES } from "@rdma/ibverbs/cm";
import {
  FRAMES,
  INFINIBAND,
  IPOIB,
  LINKS,
  MESSAGES,
  pcap,
  pcapng,
  SYNDROMES,
  TUNNELS,
} from "./captures.ts";
import { runDeno, stdOptions } from "../../../tests/subprocess.ts";
import { type Ran, ran } from "./terminal.ts";

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

Deno.test("readCapture() reads compressed captures of several members", async () => {
  for (const whole of [pcap(FRAMES), pcapng(FRAMES)]) {
    // Two of them, an empty one among them, and one for each of 300 bytes.
    const cuts = [[100], [100, 100], Array.from(whole.subarray(0, 300).keys())];
    for (const ends of cuts) {
      const parts = [...ends, whole.length].map((end, i) => whole.slice(ends[i - 1] ?? 0, end));
      const members = await Promise.all(parts.map(gzip));
      const file = await new Blob(members).bytes();
      assertEquals((await framesOf(file)).map(({ bytes }) => bytes.toHex()), FRAMES);
      // Tapes and blocks are filled up with zeros.
      const padded = await new Blob([file, new Uint8Array(512)]).bytes();
      assertEquals((await framesOf(padded)).length, FRAMES.length);
      const cut = file.slice(0, -9);
      await assertRejects(() => framesOf(cut), CommandError, "cannot be decompressed");
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

Deno.test("readFrame() takes no message over Ethernet for IP over InfiniBand, which it may look like", () => {
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

async function explained(bytes: Uint8Array, ...options: string[]): Promise<Ran> {
  const file = await Deno.makeTempFile({ suffix: ".pcap" });
  try {
    await Deno.writeFile(file, bytes);
    return await ran(["explain", file, ...options]);
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("explain knows a capture of any name, and says why it reads no other file", async () => {
  const folder = await Deno.makeTempDir();
  const explain = async (name: string, bytes?: Uint8Array): Promise<[number, string]> => {
    const file = `${folder}/${name}`;
    if (bytes !== undefined) await Deno.writeFile(file, bytes);
    const { status, out, err } = await ran(["explain", "--brief", file]);
    return [status, out + err];
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
    using _ = stub(Deno, "statSync", () => {
      throw new Deno.errors.NotCapable("Requires read access, run again with --allow-read");
    });
    const [refused, hint] = await explain("trace");
    assertEquals([refused, /as a capture: .* --allow-read; see/.test(hint)], [1, true], hint);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readFrame() names the messages of ICMP, as long as they have a header", () => {
  const names: readonly (readonly [start: string, size: number, names: Record<number, string>])[] =
    [
      ["0301fcfe00000000", 8, {
        ...{ 0: " (echo reply)", 3: " (destination unreachable)", 5: " (redirect)" },
        ...{ 8: " (echo request)", 11: " (time exceeded)", 99: "" },
      }],
      ["8700000000000000fe80", 24, {
        ...{ 1: " (destination unreachable)", 2: " (packet too big)", 3: " (time exceeded)" },
        ...{ 128: " (echo request)", 129: " (echo reply)", 135: " (neighbour solicitation)" },
      }],
    ];
  for (const [start, size, types] of names) {
    const frame = FRAMES.find((frame) => frame.includes(start))!;
    const headers = frame.slice(0, frame.indexOf(start));
    for (const [type, name] of Object.entries(types)) {
      const message = Uint8Array.of(Number(type), ...new Uint8Array(size - 1)).toHex();
      const { reason } = readFrame(Uint8Array.fromHex(headers + message), 1);
      assertStringIncludes(reason!, ` type ${type}${name}`);
    }
  }
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

Deno.test("explain says how long frames were on the wire", async () => {
  const frames = snapped([FRAMES[0]!, FRAMES.find((frame) => frame.slice(84, 86) === "0a")!], 60);
  const { out: text } = await explained(frames, "--brief");
  assertMatch(text, /^Frame 1, \S+ 60 of 74 bytes: /);
  assertMatch(
    text,
    / 60 of 82 bytes: .* RDMA WRITE Only to 0x000011, PSN 291: the packet ends within/,
  );
  const { out: json } = await explained(frames, "--json");
  const { length, captured, payload } = JSON.parse(json.split("\n")[0]!);
  assertEquals([length, captured, payload], [74, 60, undefined]);
  const whole = await explained(snapped([FRAMES[0]!], 64), "--json");
  assertEquals(JSON.parse(whole.out).payload, { length: 8 });
});

Deno.test("explain says in each form that there are no packets, and what there is", async () => {
  const [arp, tcp] = [FRAMES.at(-1)!, FRAMES.at(-2)!];
  const forms = [["--brief"], ["--roce"], [], ["--json"], ["--brief", "--roce"]];
  for (const options of forms) {
    const { status, out, err } = await explained(pcap([arp, tcp, tcp]), ...options);
    const summary = "of 3 frames: 2 of IP protocol 6 (TCP); 1 of ethertype 0x0806 (ARP)\n";
    assertEquals([status, err], [1, `explain: no RoCE packet ${summary}`], options.join());
    assertEquals(out.includes("TCP"), !options.includes("--roce"), out);
    const none = await explained(pcap([]), ...options);
    assertEquals([none.status, none.out], [1, ""]);
    assertEquals(none.err, "explain: no RoCE packet is in the capture: it has no frames\n");
    const unknown = await explained(pcap([tcp], { linkType: 147 }), ...options);
    assertStringIncludes(unknown.err, "of unknown link type 147 (private)");
  }
});

Deno.test("explain shows frames whose time no calendar has", async () => {
  const bytes = pcapng(FRAMES.slice(0, 2));
  const text = bytes.toHex();
  bytes[text.indexOf("0900010009") / 2 + 4] = 0;
  // The upper half of the time is behind the type, the length and the interface of a block.
  bytes.fill(0xff, text.indexOf("06000000") / 2 + 12, text.indexOf("06000000") / 2 + 16);
  const { status, out } = await explained(bytes);
  assertEquals([status, /^Frame 1, \d+ s, /.test(out)], [0, true], out);
});

Deno.test("explain says what is wrong with a capture", async () => {
  const damaged = pcap(FRAMES.slice(0, 2)).subarray(0, -1);
  const { status, out, err } = await explained(damaged, "--json");
  assertEquals([status, out.trim().split("\n").length], [1, 1]);
  assert(err.startsWith("explain: the capture is damaged, or ends too early: at byte "), err);
  const other = await explained(new Uint8Array(99));
  assertEquals([other.status, other.out], [1, ""]);
  assertMatch(other.err, /: the file is no capture: it begins neither as pcap nor as pcapng\./);
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

Deno.test("readFrame() names the classes, methods and attributes of management datagrams", () => {
  const rows: readonly (readonly [mgmtClass: number, method: number, attribute: number, string])[] =
    [
      [0x01, 0x01, 0x0011, "subnet management, Get, NodeInfo"],
      [0x81, 0x81, 0x0015, "subnet management by a directed route, GetResp, PortInfo"],
      [0x81, 0x02, 0x0019, "subnet management by a directed route, Set, LinearForwardingTable"],
      [0x01, 0x05, 0x0002, "subnet management, Trap, Notice"],
      [0x03, 0x12, 0x0035, "subnet administration, GetTable, PathRecord"],
      [0x03, 0x02, 0x0038, "subnet administration, Set, MCMemberRecord"],
      [0x03, 0x95, 0x0031, "subnet administration, DeleteResp, ServiceRecord"],
      [0x03, 0x06, 0x0002, "subnet administration, Report, Notice"],
      [0x04, 0x01, 0x0012, "performance management, Get, PortCounters"],
      [0x04, 0x81, 0x001d, "performance management, GetResp, PortCountersExtended"],
      [0x05, 0x03, 0x0021, "baseboard management, Send, ReadVPD"],
      [0x06, 0x01, 0x0011, "device management, Get, IOControllerProfile"],
      [0x07, 0x01, 0x0001, "communication management, Get, ClassPortInfo"],
      [0x07, 0x03, 0x001b, "communication management, Send, SuggestAlternatePath"],
      [0x08, 0x03, 0x0011, "SNMP, Send, PduInfo"],
      [0x21, 0x02, 0x0016, "congestion control, Set, CACongestionSetting"],
      [0x0a, 0x01, 0xff10, "class of a vendor, Get, attribute of a vendor"],
      [0x31, 0x7f, 0x0077, "class of a vendor, another method, another attribute"],
      [0x2f, 0x03, 0x0001, "class of an application, Send, ClassPortInfo"],
    ];
  for (const [mgmtClass, method, attribute, names] of rows) {
    const text = [[mgmtClass, 2], [method, 2], [attribute, 4]]
      .map(([value, digits]) => value!.toString(16).padStart(digits!, "0"));
    const frame = MESSAGES[0]!.replace("01070203", `01${text[0]}02${text[1]}`)
      .replace("00000000000012340010", `0000000000001234${text[2]}`);
    const mad = readFrame(Uint8Array.fromHex(frame), 1).sections.find(({ key }) => key === "mad")!;
    const texts = ["mgmtClass", "method", "attributeId"].map((name) =>
      mad.rows.find((row) => row.name === name)!.text!.replace(/^0x\w+ \((.*)\)$/, "$1")
    );
    assertEquals(texts.join(", "), names);
  }
});
