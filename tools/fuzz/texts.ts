/** Text and bytes from outside: addresses, GRHs, packets, RSS, and what the ends of connections send. */

import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { CommandError } from "../../cli/command.ts";
import { explainParts, readPart } from "../../cli/explain.ts";
import { readHex } from "../../cli/explain/hex_input.ts";
import { sectionLines, sectionValues } from "../../cli/explain/section.ts";
import { decodeAddress, encodeAddress } from "../../cli/pingpong/address.ts";
import {
  type FlowSpec,
  FlowSpecType,
  formatAddress,
  Gid,
  Grh,
  parseAddress,
  type RssFlow,
  rssInput,
  toeplitz,
  ToeplitzKey,
} from "../../mod.ts";
import { creditsOf, encodeFrame, typeOf } from "../../net/rc/frame.ts";
import { readRcAddress } from "../../net/rc/rc_address.ts";
import { readUdAddress, type UdAddress } from "../../net/ud/ud_address.ts";
import { recorder } from "../../tests/pure/cli/terminal.ts";
import { writeSpecs } from "../../types/flow/flow_spec.ts";
import { FILTERS } from "../../types/flow/flow_spec_type.ts";
import { hasIpv4Checksum } from "../../types/address/grh.ts";
import { bytes, hostileText, mutated, wrong } from "./inputs.ts";
import { expected, fc, isHarmless, same, type Target, target } from "./target.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The C library's own reading and writing of addresses.
let opened: Deno.DynamicLibrary<typeof LIBC> | undefined;
const LIBC = {
  inet_pton: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  inet_ntop: { parameters: ["i32", "buffer", "buffer", "u32"], result: "pointer" },
} as const;
const libc = (): Deno.DynamicLibrary<typeof LIBC>["symbols"] =>
  (opened ??= Deno.dlopen("libc.so.6", LIBC)).symbols;
const [AF_INET, AF_INET6] = [2, 10];

const digitGroup = fc.oneof(
  fc.nat(0x1ffff).map((group) => group.toString(16)),
  fc.constantFrom("", "0", "ffff", "1.2.3.4", "00001", "g"),
);
const addressText: fc.Arbitrary<string> = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.array(fc.nat(300), { minLength: 3, maxLength: 5 }).map((parts) => parts.join(".")),
  fc.array(digitGroup, { minLength: 1, maxLength: 10 }).map((groups) => groups.join(":")),
  fc.oneof(fc.ipV4(), fc.ipV6(), bytes(16).map(formatAddress)).chain((text) =>
    mutated(fc.constant(encoder.encode(text))).map((bytes) => decoder.decode(bytes))
  ),
  hostileText,
);

function checkAddressText(text: string): void {
  const family = text.includes(":") ? AF_INET6 : AF_INET;
  const theirs = new Uint8Array(16);
  // A string of C ends at its first NUL.
  const valid = !text.includes("\0") &&
    libc().inet_pton(family, encoder.encode(`${text}\0`), theirs) === 1;
  let ours: Uint8Array | undefined;
  try {
    ours = parseAddress(text);
  } catch (error) {
    expected(error, SyntaxError);
  }
  same(ours, valid ? theirs.subarray(0, family === AF_INET ? 4 : 16) : undefined, "parseAddress()");
  if (ours !== undefined) same(new Gid(Gid.parse(text).bytes).equals(Gid.parse(text)), true, "Gid");
}

function checkAddressBytes(bytes: Uint8Array<ArrayBuffer>): void {
  const text = new Uint8Array(64);
  libc().inet_ntop(bytes.length === 4 ? AF_INET : AF_INET6, bytes, text, text.length);
  const theirs = decoder.decode(text.subarray(0, text.indexOf(0)));
  same(formatAddress(bytes), theirs, "formatAddress()");
  same(parseAddress(theirs), bytes, "parseAddress() of what formatAddress() gives");
}

const [v6, v4] = [0x60, 0x45].map((first) =>
  bytes(40).map((grh) => grh.fill(first, first === 0x60 ? 0 : 20, first === 0x60 ? 1 : 21))
) as [fc.Arbitrary<Uint8Array<ArrayBuffer>>, fc.Arbitrary<Uint8Array<ArrayBuffer>>];
const both = v6.map((grh) => grh.fill(0x45, 20, 21));
const grhBytes = fc.oneof(bytes(40), bytes(0, 80), v6, v4, both, mutated(v6), mutated(v4));

function checkGrh(bytes: Uint8Array<ArrayBuffer>): void {
  let grh: Grh;
  try {
    grh = new Grh(bytes);
  } catch (error) {
    expected(error, RangeError);
    return same(bytes.length < Grh.SIZE, true, "a GRH is refused");
  }
  const raw = bytes.slice(0, Grh.SIZE);
  same(grh.bytes, raw, "bytes");
  const ipv4 = raw[20]! >> 4 === 4;
  const ipv6 = raw[0]! >> 4 === 6;
  const isIpv4 = ipv6 ? raw[20]! % 16 === 5 && hasIpv4Checksum(new DataView(raw.buffer)) : ipv4;
  same(grh.ipVersion, isIpv4 ? 4 : ipv6 ? 6 : undefined, "ipVersion");
  const { fields } = structs.ibv_grh;
  const view = new DataView(raw.buffer);
  const word = readField(view, fields.version_tclass_flow);
  same([grh.trafficClass, grh.flowLabel], [word >>> 20 & 255, word % 2 ** 20], "first word");
  same([grh.paylen, grh.nextHdr, grh.hopLimit], [raw[4]! * 256 + raw[5]!, raw[6], raw[7]], "rest");
  const mapped = (at: number): string => `::ffff:${raw.slice(at, at + 4).join(".")}`;
  const [source, destination] = isIpv4
    ? [mapped(32), mapped(36)]
    : [formatAddress(raw.slice(8, 24)), formatAddress(raw.slice(24, 40))];
  same([grh.sgid.toString(), grh.dgid.toString()], [source, destination], "GIDs");
  same(isHarmless(Deno.inspect(grh)), true, "console.log");
}

const ethernet = fc.tuple(
  bytes(12),
  fc.constantFrom("0800", "86dd", "8915", "8100"),
  grhBytes,
  bytes(0, 60),
)
  .map(([macs, type, header, rest]) =>
    new Uint8Array([...macs, ...Uint8Array.fromHex(type), ...header, ...rest])
  );
const udp = fc.tuple(bytes(20), bytes(0, 60)).map(([header, rest]) => {
  const ip = header.fill(0x45, 0, 1).fill(17, 9, 10);
  return new Uint8Array([...ip, 0xc0, 0, 0x12, 0xb7, 0, rest.length + 8, 0, 0, ...rest]);
});
const pasted = fc.oneof(
  fc.oneof(ethernet, udp, mutated(udp), grhBytes, bytes(structs.ibv_wc.size)).map((bytes) =>
    bytes.toHex()
  ),
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef x:,\n\t0x".split("")), maxLength: 200 }),
  hostileText,
);

function checkExplained(
  texts: string[],
  as: "grh" | "completion" | "packet" | undefined,
): void {
  const printed = recorder();
  try {
    const sections = explainParts(texts.map((text) => readPart(readHex(text), as))).sections;
    printed.terminal.print(sectionLines(sections));
    printed.terminal.printJson(sectionValues(sections));
  } catch (error) {
    printed.terminal.printError(expected(error, CommandError).message);
  }
  same(isHarmless(printed.out + printed.err), true, "what is printed");
}

/** The hash by the definition: one bit of input and 32 bits of key at a time. */
function slowToeplitz(key: Uint8Array, input: Uint8Array): number {
  const bits = (bytes: Uint8Array): string =>
    [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const all = bits(key);
  return [...bits(input)].reduce(
    (hash, bit, i) => bit === "1" ? (hash ^ parseInt(all.slice(i, i + 32), 2)) >>> 0 : hash,
    0,
  );
}

function checkToeplitz(key: Uint8Array<ArrayBuffer>, input: Uint8Array<ArrayBuffer>): void {
  const isLong = key.length >= input.length + 4;
  for (const hash of [() => toeplitz(key, input), () => new ToeplitzKey(key).hash(input)]) {
    try {
      same(hash(), slowToeplitz(key, input), "hash");
      same(isLong, true, "a short key is refused");
    } catch (error) {
      if (isLong) throw error;
      expected(error, RangeError);
    }
  }
}

const anyAddress = fc.oneof(
  addressText,
  fc.ipV4(),
  fc.ipV6(),
  bytes(4),
  bytes(16),
  bytes(0, 20),
  wrong,
);
const anyPort = fc.oneof(fc.nat(0xffff), fc.constant(undefined), wrong);
const rssFlow = fc.record({
  source: anyAddress,
  destination: anyAddress,
  protocol: fc.constantFrom("tcp", "udp", undefined),
  sourcePort: anyPort,
  destinationPort: anyPort,
}) as fc.Arbitrary<RssFlow>;

function checkRssInput(flow: RssFlow, fields: number, symmetric: boolean): void {
  try {
    const input = rssInput(flow, fields, { symmetric });
    const size = typeof flow.source === "string"
      ? parseAddress(flow.source).length
      : flow.source.length;
    same(
      [0, 2, 4, size, size + 2, size + 4, 2 * size, 2 * size + 2, 2 * size + 4].includes(
        input.length,
      ),
      true,
      "length",
    );
    if (!symmetric) return;
    const { source, destination, sourcePort, destinationPort } = flow;
    const back = {
      ...flow,
      source: destination,
      destination: source,
      sourcePort: destinationPort,
      destinationPort: sourcePort,
    };
    const pairs = [0x3, 0xc, 0x30, 0xc0].every((pair) =>
      (fields & pair) === 0 || (fields & pair) === pair
    );
    if (pairs) same(rssInput(back, fields, { symmetric }), input, "the other direction");
  } catch (error) {
    expected(error, RangeError, TypeError, SyntaxError);
  }
}

const flowSpec = fc.record({
  type: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...Object.values(FlowSpecType)) }, {
    weight: 1,
    arbitrary: wrong,
  }),
  val: filterOf(),
  mask: filterOf(),
  inner: fc.oneof(fc.boolean(), wrong),
  tagId: fc.oneof(fc.nat(), wrong),
}, { requiredKeys: ["type"] }) as unknown as fc.Arbitrary<FlowSpec>;

function filterOf(): fc.Arbitrary<object> {
  const mac = fc.oneof(bytes(6).map((mac) => mac.toHex().match(/../g)!.join(":")), hostileText);
  const number = fc.oneof(fc.nat(255), fc.nat(), wrong);
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant({}) },
    {
      weight: 3,
      arbitrary: fc.record({ dstMac: mac, srcMac: mac, etherType: number, vlanTag: number }, {
        requiredKeys: [],
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ srcIp: anyAddress, dstIp: anyAddress }, { requiredKeys: [] }),
    },
    { weight: 3, arbitrary: fc.record({ dstPort: number, srcPort: number }, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.record({ tunnelId: number }) },
    { weight: 1, arbitrary: fc.record({ spi: number, seq: number }, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.record({ label: number }) },
  );
}

function checkFlow(specs: FlowSpec[]): void {
  try {
    for (const [i, { view }] of writeSpecs(specs).entries()) {
      const { type, size } = structs.ibv_flow_spec_action_drop.fields;
      same(readField(view, size), view.byteLength, "size");
      const spec = specs[i]! as unknown as { type: number; inner?: boolean; val?: object };
      same(readField(view, type), spec.type | (spec.inner ? FlowSpecType.INNER : 0), "type");
      const filter = FILTERS.get(spec.type);
      if (filter === undefined) continue;
      const read = filter[1].read(view, structs[filter[0]].fields.val.offset) as Record<
        string,
        unknown
      >;
      for (const [name, value] of Object.entries(spec.val!)) {
        if (typeof value === "number") same(read[name], value, name);
      }
    }
  } catch (error) {
    expected(error, RangeError, TypeError, SyntaxError);
  }
}

const endpoint = fc.record({
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  psn: fc.nat(0xff_ffff),
  gid: bytes(16).map((bytes) => new Gid(bytes)),
});
const pingPongBytes = endpoint.map(encodeAddress);

function checkPingPong(bytes: Uint8Array<ArrayBuffer>): void {
  try {
    const address = decodeAddress(bytes);
    same(decoder.decode(encodeAddress(address)), decoder.decode(bytes).toLowerCase(), "address");
  } catch (error) {
    expected(error, SyntaxError);
  }
}

const rcAddress = fc.record({
  transport: fc.constant("rc"),
  gid: addressText,
  lid: fc.nat(0xffff),
  qpn: fc.nat(0xff_ffff),
  psn: fc.nat(0xff_ffff),
  mtu: fc.constantFrom(256, 512, 1024, 2048, 4096),
  rdAtomic: fc.nat(255),
  credits: fc.integer({ min: 1, max: 2 ** 15 }),
  maxMessage: fc.integer({ min: 1, max: 2 ** 24 }),
});
const anyRcAddress = fc.oneof(
  rcAddress,
  fc.tuple(rcAddress, fc.nat(), wrong).map(([address, which, value]) => {
    const names = [...Object.keys(address), "other"];
    return { ...address, [names[which % names.length]!]: value };
  }),
  fc.jsonValue(),
  wrong,
);

function checkRcAddress(value: unknown): void {
  try {
    const address = readRcAddress(value);
    same(readRcAddress(JSON.parse(JSON.stringify(address))), address, "address");
    same(isHarmless(JSON.stringify(address)), true, "address");
  } catch (error) {
    expected(error, Deno.errors.InvalidData);
  }
  try {
    const udAddress = readUdAddress(value as UdAddress, undefined);
    same(Number.isInteger(udAddress.qpn + udAddress.lid + udAddress.qkey), true, "numbers");
  } catch (error) {
    expected(error, TypeError, RangeError);
  }
}

function checkFrame(immData: number): void {
  const [type, credits] = [typeOf(immData), creditsOf(immData)];
  same(type >= 0 && type < 16 && credits >= 0 && credits < 2 ** 28, true, "parts");
  same(encodeFrame(type as 1, credits), immData, "frame");
}

/** Text and bytes from outside. */
export const TEXTS: readonly Target[] = [
  target(
    {
      name: "address-text",
      what: "parseAddress() and Gid.parse() against inet_pton() of the C library",
    },
    [addressText],
    checkAddressText,
  ),
  target(
    {
      name: "address-bytes",
      what: "formatAddress() against inet_ntop() of the C library, and back",
    },
    [fc.oneof(
      bytes(4),
      bytes(16),
      bytes(16).map((bytes) => bytes.fill(0, 0, 10).fill(255, 10, 12)),
      bytes(16).map((all) => all.map((byte) => byte < 160 ? 0 : byte)),
    )],
    checkAddressBytes,
  ),
  target({ name: "grh", what: "Grh of random and changed bytes against the bytes themselves" }, [
    grhBytes,
  ], checkGrh),
  target(
    { name: "explain", what: "cli explain of hexadecimal text, packets, GRHs and completions" },
    [
      fc.array(pasted, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(undefined, undefined, "grh", "completion", "packet"),
    ],
    checkExplained,
  ),
  target(
    { name: "toeplitz", what: "toeplitz() and ToeplitzKey against the definition, bit by bit" },
    [bytes(0, 56), bytes(0, 48)],
    checkToeplitz,
  ),
  target(
    { name: "rss-input", what: "rssInput() of flows with good and wrong parts" },
    [rssFlow, fc.oneof(fc.nat(0xff), fc.nat(), fc.constantFrom(0x80000003, -1, 1.5)), fc.boolean()],
    checkRssInput,
  ),
  target(
    {
      name: "flow-specs",
      what: "specifications of flow rules: each written with its type and size, or refused",
    },
    [fc.array(flowSpec, { maxLength: 3 })],
    checkFlow,
  ),
  target(
    { name: "pingpong-wire", what: "addresses of ibv_*_pingpong: random, changed, upper case" },
    [fc.oneof(
      pingPongBytes,
      mutated(pingPongBytes),
      bytes(52),
      bytes(0, 60),
      pingPongBytes.map((bytes) => encoder.encode(decoder.decode(bytes).toUpperCase())),
    )],
    checkPingPong,
  ),
  target(
    { name: "net-address", what: "addresses of net that peers send as JSON" },
    [anyRcAddress],
    checkRcAddress,
  ),
  target(
    { name: "net-frame", what: "the immediate data of net's messages" },
    [fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(Number))],
    checkFrame,
  ),
];
